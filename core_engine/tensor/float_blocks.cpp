#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core_engine/base/simd.h"
#include "core_engine/tensor/float_blocks_internal.h"
#include "core_engine/tensor/observation_parts.h"

#define MSDBG_INLINE inline __attribute__((always_inline))

namespace msdbg::core {
namespace {

constexpr std::int64_t kLanes = 16;
// Of sum x^2 to sum (x-mean)^2: beyond it a difference of sums has too few correct bits.
constexpr double kLargestCancellation = 64;
constexpr float kInf = std::numeric_limits<float>::infinity();

typedef double Vec __attribute__((vector_size(32)));  // four of them are the 16 lanes
typedef std::int64_t Mask __attribute__((vector_size(32)));
typedef float Quad __attribute__((vector_size(16)));
typedef float Floats __attribute__((vector_size(32)));  // two of them are the 16 lanes
typedef std::int32_t FloatMask __attribute__((vector_size(32)));
constexpr int kVecs = 4;

MSDBG_INLINE void load(const float* p, Vec& out) {
  Quad quad;
  std::memcpy(&quad, p, sizeof quad);
  out = __builtin_convertvector(quad, Vec);
}
MSDBG_INLINE void absolute(const Vec& v, Vec& out) {
  out = reinterpret_cast<Vec>(reinterpret_cast<Mask>(v) & std::numeric_limits<std::int64_t>::max());
}
MSDBG_INLINE double addLanes(const Vec* lanes) {
  const Vec s = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  return (s[0] + s[2]) + (s[1] + s[3]);
}

struct Sums {
  Vec sum[kVecs] = {}, sumAbs[kVecs] = {}, sumSquares[kVecs] = {};
  Floats min[2], max[2];
  FloatMask zero[2] = {}, negative[2] = {};

  MSDBG_INLINE void add(const float* p) {
    for (int k = 0; k < kVecs; ++k) {
      Vec v, a;
      load(p + 4 * k, v);
      absolute(v, a);
      sum[k] += v;
      sumAbs[k] += a;
      sumSquares[k] += v * v;
    }
    for (int k = 0; k < 2; ++k) {
      Floats v;
      std::memcpy(&v, p + 8 * k, sizeof v);
      min[k] = v < min[k] ? v : min[k];
      max[k] = v > max[k] ? v : max[k];
      zero[k] -= v == 0.0f;
      negative[k] -= v < 0.0f;
    }
  }
};

MSDBG_INLINE void sumsOf(const float* data, std::int64_t count, FloatSums& out) {
  Sums s;
  for (int k = 0; k < 2; ++k) s.min[k] = Floats{} + kInf, s.max[k] = Floats{} - kInf;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) s.add(data + i);
  std::int64_t padded = 0;
  float least = kInf, most = -kInf;
  if (i < count) {  // zeros change no sum; what else they change is put right
    float rest[kLanes] = {};
    std::memcpy(rest, data + i, static_cast<std::size_t>(count - i) * sizeof(float));
    padded = kLanes - (count - i);
    for (int k = 0; k < 2; ++k)
      for (int l = 0; l < 8; ++l) least = std::fmin(least, s.min[k][l]), most = std::fmax(most, s.max[k][l]);
    for (; i < count; ++i) least = std::fmin(least, data[i]), most = std::fmax(most, data[i]);
    s.add(rest);
  } else {
    for (int k = 0; k < 2; ++k)
      for (int l = 0; l < 8; ++l) least = std::fmin(least, s.min[k][l]), most = std::fmax(most, s.max[k][l]);
  }
  out = {addLanes(s.sum), addLanes(s.sumAbs), addLanes(s.sumSquares), least, most, -padded, 0};
  const FloatMask zero = s.zero[0] + s.zero[1], negative = s.negative[0] + s.negative[1];
  for (int l = 0; l < 8; ++l) out.zero += zero[l], out.negative += negative[l];
}

struct Changes {
  Vec change[kVecs] = {}, previous[kVecs] = {}, largest[kVecs] = {};
  Mask inside[kVecs] = {};

  MSDBG_INLINE void add(const float* x, const float* p, double rtol, double atol) {
    for (int k = 0; k < kVecs; ++k) {
      Vec a, b, d;
      load(x + 4 * k, a);
      load(p + 4 * k, b);
      absolute(a - b, d);
      absolute(b, b);
      change[k] += d;
      previous[k] += b;
      largest[k] = d > largest[k] ? d : largest[k];
      inside[k] -= d <= atol + rtol * b;
    }
  }
};

MSDBG_INLINE void changeOf(const float* x, const float* p, std::int64_t count, double rtol, double atol,
                           FloatChange& out) {
  Changes c;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) c.add(x + i, p + i, rtol, atol);
  const std::int64_t padded = i < count ? kLanes - (count - i) : 0;  // zeros: unchanged, so inside
  if (padded) {
    float restX[kLanes] = {}, restP[kLanes] = {};
    std::memcpy(restX, x + i, static_cast<std::size_t>(count - i) * sizeof(float));
    std::memcpy(restP, p + i, static_cast<std::size_t>(count - i) * sizeof(float));
    c.add(restX, restP, rtol, atol);
  }
  out = {addLanes(c.change), addLanes(c.previous), 0, -padded};
  for (int k = 0; k < kVecs; ++k)
    for (int l = 0; l < 4; ++l) {
      out.maxAbsChange = std::max(out.maxAbsChange, c.largest[k][l]);
      out.inside += c.inside[k][l];
    }
}

MSDBG_INLINE void countsOf(const float* data, std::int64_t count, float start, float end,
                           BlockActivation& out) {
  FloatMask inRange = {}, active = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    Floats v;
    std::memcpy(&v, data + i, sizeof v);
    inRange -= (v >= start) & (v <= end);
    active -= v > 0.0f;
  }
  out = {};
  for (int l = 0; l < 8; ++l) out.inRange += inRange[l], out.active += active[l];
  for (; i < count; ++i) {
    out.inRange += data[i] >= start && data[i] <= end;
    out.active += data[i] > 0;
  }
}

MSDBG_SIMD_CLONES void plainSums(const float* data, std::int64_t count, const float*, FloatSums& sums) {
  sumsOf(data, count, sums);
}
MSDBG_SIMD_CLONES void plainChange(const float* x, const float* previous, std::int64_t count, double rtol,
                                   double atol, FloatChange& change) {
  changeOf(x, previous, count, rtol, atol, change);
}
MSDBG_SIMD_CLONES void plainActivation(const float* data, std::int64_t count, float start, float end,
                                       BlockActivation& out) {
  countsOf(data, count, start, end, out);
}
std::int64_t plainUnits(const float* data, std::int64_t count, float start, float end, const UnitRuns& runs,
                        std::int64_t* active) {
  PositiveBits positive;
  for (std::int64_t first = 0; first < count; first += 64) {
    std::uint64_t word = 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(64, count - first); ++i)
      word |= static_cast<std::uint64_t>(data[first + i] > 0) << i;
    positive.words[static_cast<std::size_t>(first / 64)] = word;
  }
  positive.addRuns(count, runs, active);
  BlockActivation all;
  plainActivation(data, count, start, end, all);
  return all.inRange;
}

/// Two passes, where the deviations are lost in the sums.
MSDBG_SIMD_CLONES void deviationsOf(const float* data, std::int64_t count, double meanValue, double& result) {
  const Vec mean = Vec{} + meanValue;
  Vec total[kVecs] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int k = 0; k < kVecs; ++k) {
      Vec v;
      load(data + i + 4 * k, v);
      v -= mean;
      total[k] += v * v;
    }
  double rest = 0;
  for (; i < count; ++i) rest += (data[i] - meanValue) * (data[i] - meanValue);
  result = addLanes(total) + rest;
}

bool finite(double sum) { return sum <= std::numeric_limits<double>::max(); }  // of absolute values

}  // namespace

const FloatKernels kPlainFloatKernels = {plainSums, plainChange, plainActivation, plainUnits};

const FloatKernels& floatKernels() {
  static const FloatKernels& fastest = [&]() -> const FloatKernels& {
    for (const FloatKernels* kernels : {avx512FloatKernels(), avx2FloatKernels()})
      if (kernels) return *kernels;
    return kPlainFloatKernels;
  }();
  return fastest;
}

float firstFloatFrom(double start) {
  const auto f = static_cast<float>(start);
  return f < start ? std::nextafter(f, kInf) : f;
}

static bool momentsFrom(const FloatSums& s, const float* data, std::int64_t count, BlockMoments& m) {
  if (count == 0 || !finite(s.sumAbs)) return false;
  m.finite = count;
  m.zero = s.zero;
  m.negative = s.negative;
  m.min = s.min;
  m.max = s.max;
  m.sum = s.sum;
  m.sumAbs = s.sumAbs;
  m.sumSquares = s.sumSquares;
  m.mean = s.sum / static_cast<double>(count);
  m.squaredDeviations = s.sumSquares - s.sum * m.mean;
  if (m.squaredDeviations * kLargestCancellation < s.sumSquares)
    deviationsOf(data, count, m.mean, m.squaredDeviations);
  return true;
}

bool finiteMoments(const float* data, std::int64_t count, const float* next, BlockMoments& m) {
  FloatSums s;
  floatKernels().sums(data, count, next, s);
  return momentsFrom(s, data, count, m);
}

static bool changeFrom(const FloatChange& c, std::int64_t count, BlockChange& change) {
  if (!finite(c.sumAbsChange) || !finite(c.sumAbsPrevious)) return false;
  change = {0, count - c.inside, c.sumAbsChange, c.sumAbsPrevious, c.maxAbsChange};
  return true;
}

bool finiteChange(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                  BlockChange& change) {
  FloatChange c;
  floatKernels().change(x, previous, count, rtol, atol, c);
  return changeFrom(c, count, change);
}

BlockActivation floatActivation(const float* data, std::int64_t count, double start, double end) {
  BlockActivation result;
  floatKernels().activation(data, count, firstFloatFrom(start), lastFloatUpTo(end), result);
  return result;
}

std::int64_t floatUnits(const float* data, std::int64_t count, double start, double end, const UnitRuns& runs,
                        std::int64_t* active) {
  return floatKernels().units(data, count, firstFloatFrom(start), lastFloatUpTo(end), runs, active);
}

}  // namespace msdbg::core
