// What fast kernels compute of an element, whatever they are compiled for: CPU and GPU give the same bits
// (but for the payload of NaN), as no compiler may contract what is written here. Pure functions on plain
// numbers.
#pragma once

#include <cmath>
#include <cstdint>

#include "core_engine/base/vec_math.h"

namespace msdbg::core {

// --- element-wise operators: one struct per formula ---

struct AddOf {
  static MSDBG_INLINE float of(float a, float b) { return a + b; }
};
struct SubOf {
  static MSDBG_INLINE float of(float a, float b) { return a - b; }
};
struct MulOf {
  static MSDBG_INLINE float of(float a, float b) { return a * b; }
};
struct DivOf {
  static MSDBG_INLINE float of(float a, float b) { return a / b; }
};
struct ReluGradOf {
  static MSDBG_INLINE float of(float dy, float y) { return y <= 0.0f ? 0.0f : dy; }
};
struct SigmoidGradOf {
  static MSDBG_INLINE float of(float dy, float y) { return dy * y * (1.0f - y); }
};
struct TanhGradOf {
  static MSDBG_INLINE float of(float dy, float y) { return dy * (1.0f - y * y); }
};

struct ReluOf {
  static MSDBG_INLINE float of(float x) { return x <= 0.0f ? 0.0f : x; }
};
struct SigmoidOf {
  static MSDBG_INLINE float of(float x) { return vecSigmoid(x); }
};
struct TanhOf {
  static MSDBG_INLINE float of(float x) { return vecTanh(x); }
};
struct ExpOf {
  static MSDBG_INLINE float of(float x) { return vecExp(x); }
};
struct ErfOf {
  static MSDBG_INLINE float of(float x) { return vecErf(x); }
};
struct SqrtOf {
  static MSDBG_INLINE float of(float x) { return std::sqrt(x); }
};
struct GeluOf {
  static MSDBG_INLINE float of(float x) { return vecGelu(x); }
};
struct GeluGradOf {
  static MSDBG_INLINE float of(float dy, float x) { return dy * vecGeluSlope(x); }
};
struct LogOf {
  static MSDBG_INLINE float of(float x) { return vecLog(x); }
};

// --- normalisations ---

struct NormalSettings {
  float mean, factor, shift;
};
MSDBG_INLINE float normalOf(const NormalSettings& s, float x) { return (x - s.mean) * s.factor + s.shift; }

struct NormalGradSettings {
  float factor, mean, constant, slope;
};
MSDBG_INLINE float normalGradOf(const NormalGradSettings& s, float dy, float x) {
  return s.factor * ((dy - s.constant) - (x - s.mean) * s.slope);
}

// --- pooling ---

/// NaN beats everything, the earlier of equals wins.
MSDBG_INLINE bool beats(float v, float best) { return (best == best) & ((v > best) | (v != v)); }

// --- optimizers: computed in double, each stored value rounded once, as the reference does ---

struct SgdSettings {
  double rate, momentum, decay;
  bool nesterov = false;
};
/// p - rate * (g + decay * p)
MSDBG_INLINE float sgdOf(const SgdSettings& s, float p, float g) {
  const double value = static_cast<double>(p), gradient = static_cast<double>(g);
  const double step = s.decay != 0 ? gradient + s.decay * value : gradient;
  return static_cast<float>(value - s.rate * step);
}
/// state' = momentum * state + g + decay * p; next = p - rate * state', or with nesterov p - rate * (g +
/// decay * p + momentum * state')
MSDBG_INLINE void sgdMomentumOf(const SgdSettings& s, float p, float g, float state, float& next,
                                float& nextState) {
  const double value = static_cast<double>(p), gradient = static_cast<double>(g);
  const double step = s.decay != 0 ? gradient + s.decay * value : gradient;
  const float stored = static_cast<float>(s.momentum * static_cast<double>(state) + step);
  nextState = stored;
  const double kept = static_cast<double>(stored);
  next = static_cast<float>(value - s.rate * (s.nesterov ? step + s.momentum * kept : kept));
}

struct AdamStep {
  double beta1, beta2, epsilon;
  double decay;           // added to the gradient, times p; 0 when decoupled
  double keep;            // what p is scaled by before the step; 1 unless decoupled
  double rate;            // learning rate / (1 - beta1^t)
  double rootCorrection;  // sqrt(1 - beta2^t)
};
/// What attributes say of Adam.
struct AdamSettings {
  double beta1, beta2, epsilon, weightDecay, rateFactor;
  bool decoupled;
};
/// beta^t by squaring: the same bits whatever the mathematical library.
MSDBG_INLINE double powerOf(double beta, std::int64_t t) {
  double result = 1;
  for (; t > 0; t /= 2, beta *= beta)
    if (t % 2 == 1) result *= beta;
  return result;
}
/// `done`: steps so far; a damaged count may be anything.
MSDBG_INLINE AdamStep adamStepOf(const AdamSettings& a, double learningRate, std::int64_t done) {
  const double rate = learningRate * a.rateFactor;
  const auto t = static_cast<std::int64_t>(static_cast<std::uint64_t>(done) + 1);
  AdamStep s{};
  s.beta1 = a.beta1;
  s.beta2 = a.beta2;
  s.epsilon = a.epsilon;
  s.decay = a.decoupled ? 0 : a.weightDecay;
  s.keep = a.decoupled ? 1 - rate * a.weightDecay : 1;
  s.rate = rate / (1 - powerOf(a.beta1, t));
  s.rootCorrection = std::sqrt(1 - powerOf(a.beta2, t));
  return s;
}
/// op_adam_update.cpp's formula, operation by operation.
MSDBG_INLINE void adamOf(const AdamStep& s, float p, float g, float mean, float square, float& next,
                         float& nextMean, float& nextSquare) {
  const double value = static_cast<double>(p), plain = static_cast<double>(g);
  const double gradient = s.decay == 0 ? plain : plain + s.decay * value;
  const float m = static_cast<float>(s.beta1 * static_cast<double>(mean) + (1 - s.beta1) * gradient);
  const float v =
      static_cast<float>(s.beta2 * static_cast<double>(square) + (1 - s.beta2) * gradient * gradient);
  const double root = std::sqrt(static_cast<double>(v)) / s.rootCorrection + s.epsilon;
  nextMean = m;
  nextSquare = v;
  next = static_cast<float>(value * s.keep - s.rate * (static_cast<double>(m) / root));
}

}  // namespace msdbg::core
