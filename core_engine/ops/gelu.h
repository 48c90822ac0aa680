// Gelu and its derivative (Hendrycks and Gimpel, "Gaussian error linear units", 2016), in double. Pure
// functions.
#pragma once

#include <cmath>

#include "core_engine/ops/infer.h"

namespace msdbg::core {

inline bool geluByTanh(const Attributes& attributes) {
  return stringAttribute(attributes, "approximate", "none") == "tanh";
}
inline Status checkGelu(std::string_view op, const Attributes& attributes) {
  const std::string kind = stringAttribute(attributes, "approximate", "none");
  if (kind == "none" || kind == "tanh") return Ok{};
  return inferError(op, "attribute approximate is '" + kind + "', but none or tanh was expected");
}

inline constexpr double kSqrtHalf = 0.70710678118654752440;     // 1 / sqrt(2)
inline constexpr double kInvSqrt2Pi = 0.39894228040143267794;   // 1 / sqrt(2 pi)
inline constexpr double kSqrt2OverPi = 0.79788456080286535588;  // sqrt(2 / pi)
inline constexpr double kGeluCube = 0.044715;

/// erfc, because 1 + erf would lose the tail below 0.
inline double normalShare(double x) { return 0.5 * std::erfc(-x * kSqrtHalf); }
inline double geluErf(double x) { return x * normalShare(x); }
inline double geluErfSlope(double x) { return normalShare(x) + x * kInvSqrt2Pi * std::exp(-0.5 * x * x); }

inline double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(kSqrt2OverPi * (x + kGeluCube * x * x * x)));
}
inline double geluTanhSlope(double x) {
  const double t = std::tanh(kSqrt2OverPi * (x + kGeluCube * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kSqrt2OverPi * (1 + 3 * kGeluCube * x * x);
}

}  // namespace msdbg::core
