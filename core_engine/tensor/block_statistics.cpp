#include "core_engine/tensor/block_statistics.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core_engine/base/simd.h"
#include "core_engine/tensor/converted_blocks_internal.h"
#include "core_engine/tensor/float_blocks_internal.h"

#define MSDBG_INLINE inline __attribute__((always_inline))

namespace msdbg::core {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();

// Four vectors of four doubles make the 16 lanes: a register each with AVX2. Vectors are passed by reference
// only, their calling convention depends on the instruction set.
typedef double Vec __attribute__((vector_size(32)));
typedef std::int64_t Mask __attribute__((vector_size(32)));  // -1 where true
constexpr int kVecs = 4;

/// A stored boolean: any byte but 0 is true.
struct BoolByte {
  std::uint8_t byte;
  explicit operator double() const { return byte != 0; }
};

template <typename T>
MSDBG_INLINE void load(const T* p, Vec& out) {
  out = Vec{static_cast<double>(p[0]), static_cast<double>(p[1]), static_cast<double>(p[2]),
            static_cast<double>(p[3])};
}
MSDBG_INLINE void load(const double* p, Vec& out) { std::memcpy(&out, p, sizeof out); }
MSDBG_INLINE void load(const float* p, Vec& out) {
  typedef float Quad __attribute__((vector_size(16)));
  Quad quad;
  std::memcpy(&quad, p, sizeof quad);
  out = __builtin_convertvector(quad, Vec);
}

MSDBG_INLINE void absolute(const Vec& v, Vec& out) {
  out = reinterpret_cast<Vec>(reinterpret_cast<Mask>(v) & std::numeric_limits<std::int64_t>::max());
}

/// v where the mask is set, else +0.
MSDBG_INLINE void keep(const Vec& v, const Mask& mask, Vec& out) {
  out = reinterpret_cast<Vec>(reinterpret_cast<Mask>(v) & mask);
}

MSDBG_INLINE double addLanes(const Vec* lanes) {
  const Vec s = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  return (s[0] + s[2]) + (s[1] + s[3]);
}
MSDBG_INLINE std::int64_t countLanes(const Mask* lanes) {
  const Mask s = lanes[0] + lanes[1] + lanes[2] + lanes[3];
  return -(s[0] + s[1] + s[2] + s[3]);
}

/// The elements that do not fill the lanes, padded: with what changes neither sums nor counts of interest.
template <typename T>
struct Tail {
  T values[kLanes];
  MSDBG_INLINE Tail(const T* data, std::int64_t count, T padding) {
    for (std::int64_t i = 0; i < kLanes; ++i) values[i] = i < count ? data[i] : padding;
  }
};

struct Sums {
  Vec sum[kVecs] = {}, sumAbs[kVecs] = {}, sumSquares[kVecs] = {};
};
template <bool kMasked, typename T>
MSDBG_INLINE void addSums(const T* p, Sums& s) {
  for (int k = 0; k < kVecs; ++k) {
    Vec v, a;
    load(p + 4 * k, v);
    absolute(v, a);
    if constexpr (kMasked) {
      const Mask finite = a <= kLargest;
      keep(v, finite, v);
      keep(a, finite, a);
    }
    s.sum[k] += v;
    s.sumAbs[k] += a;
    s.sumSquares[k] += v * v;
  }
}
/// kMasked leaves out what is not finite; without, one NaN or Inf makes sumAbs not finite, which is how we
/// notice.
template <bool kMasked, typename T>
MSDBG_INLINE void sums(const T* data, std::int64_t count, BlockMoments& m) {
  Sums s;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) addSums<kMasked>(data + i, s);
  if (i < count) addSums<kMasked>(Tail<T>(data + i, count - i, T{}).values, s);
  m.sum = addLanes(s.sum);
  m.sumAbs = addLanes(s.sumAbs);
  m.sumSquares = addLanes(s.sumSquares);
}

struct Order {
  Vec min[kVecs], max[kVecs];
  Mask zero[kVecs] = {}, negative[kVecs] = {};
};
template <bool kMasked, typename T>
MSDBG_INLINE void addOrder(const T* p, Order& o) {
  for (int k = 0; k < kVecs; ++k) {
    Vec v;
    load(p + 4 * k, v);
    Vec low = v, high = v;
    if constexpr (kMasked) {
      Vec a;
      absolute(v, a);
      const Mask finite = a <= kLargest;
      low = finite ? v : Vec{} + kInf;
      high = finite ? v : Vec{} - kInf;
      o.negative[k] += (v < 0.0) & finite;
    } else {
      o.negative[k] += v < 0.0;
    }
    o.zero[k] += v == 0.0;
    o.min[k] = low < o.min[k] ? low : o.min[k];
    o.max[k] = high > o.max[k] ? high : o.max[k];
  }
}
template <bool kMasked, typename T>
MSDBG_INLINE void order(const T* data, std::int64_t count, BlockMoments& m) {
  Order o;
  for (int k = 0; k < kVecs; ++k) {
    o.min[k] = Vec{} + kInf;
    o.max[k] = Vec{} - kInf;
  }
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) addOrder<kMasked>(data + i, o);
  // Padding with an element of the block changes neither end; the counts are corrected below.
  const double padding = i < count ? static_cast<double>(data[i]) : 0.0;
  const std::int64_t padded = i < count ? kLanes - (count - i) : 0;
  if (i < count) addOrder<kMasked>(Tail<T>(data + i, count - i, data[i]).values, o);
  m.zero = countLanes(o.zero) - (padding == 0.0 ? padded : 0);
  m.negative = countLanes(o.negative) - (padding < 0.0 && padding >= -kLargest ? padded : 0);
  m.min = kInf;
  m.max = -kInf;
  for (int k = 0; k < kVecs; ++k)
    for (int l = 0; l < 4; ++l) {
      m.min = o.min[k][l] < m.min ? o.min[k][l] : m.min;
      m.max = o.max[k][l] > m.max ? o.max[k][l] : m.max;
    }
}

template <bool kMasked, typename T>
MSDBG_INLINE void addDeviations(const T* p, const Vec& mean, Vec* total) {
  for (int k = 0; k < kVecs; ++k) {
    Vec v, d;
    load(p + 4 * k, v);
    d = v - mean;
    if constexpr (kMasked) {
      Vec a;
      absolute(v, a);
      keep(d, a <= kLargest, d);
    }
    total[k] += d * d;
  }
}
template <bool kMasked, typename T>
MSDBG_INLINE double deviations(const T* data, std::int64_t count, double meanValue) {
  const Vec mean = Vec{} + meanValue;
  Vec total[kVecs] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) addDeviations<kMasked>(data + i, mean, total);
  double rest = 0;
  for (; i < count; ++i) {
    const double v = static_cast<double>(data[i]);
    if (!kMasked || std::fabs(v) <= kLargest) rest += (v - meanValue) * (v - meanValue);
  }
  return addLanes(total) + rest;
}

template <typename T>
MSDBG_INLINE void classify(const T* data, std::int64_t count, BlockMoments& m) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = static_cast<double>(data[i]);
    m.nan += v != v;
    m.posInf += v == kInf;
    m.negInf += v == -kInf;
  }
  m.finite = count - m.nan - m.posInf - m.negInf;
}

template <bool kMasked, typename T>
MSDBG_INLINE void restOfMoments(const T* data, std::int64_t count, BlockMoments& m) {
  order<kMasked>(data, count, m);
  m.mean = m.finite ? m.sum / static_cast<double>(m.finite) : 0.0;
  m.squaredDeviations = deviations<kMasked>(data, count, m.mean);
}

template <typename T>
MSDBG_INLINE void moments(const T* data, std::int64_t count, BlockMoments& m) {
  sums<false>(data, count, m);
  if (m.sumAbs <= kLargest) {
    m.finite = count;
    return restOfMoments<false>(data, count, m);
  }
  sums<true>(data, count, m);
  classify(data, count, m);
  restOfMoments<true>(data, count, m);
}

struct Change {
  Vec change[kVecs] = {}, previous[kVecs] = {}, largest[kVecs] = {};
  Mask skipped[kVecs] = {}, inside[kVecs] = {};
};
template <typename T>
MSDBG_INLINE void addChange(const T* x, const T* p, double rtol, double atol, Change& c) {
  for (int k = 0; k < kVecs; ++k) {
    Vec a, b, absA, absB, d;
    load(x + 4 * k, a);
    load(p + 4 * k, b);
    absolute(a, absA);
    absolute(b, absB);
    const Mask finite = (absA <= kLargest) & (absB <= kLargest);
    absolute(a - b, d);
    keep(d, finite, d);
    keep(absB, finite, absB);
    c.change[k] += d;
    c.previous[k] += absB;
    c.largest[k] = d > c.largest[k] ? d : c.largest[k];
    c.skipped[k] += ~finite;
    c.inside[k] += finite & (d <= atol + rtol * absB);
  }
}
template <typename T>
MSDBG_INLINE void change(const T* x, const T* p, std::int64_t count, double rtol, double atol,
                         BlockChange& result) {
  Change c;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) addChange(x + i, p + i, rtol, atol, c);
  const std::int64_t padded = i < count ? kLanes - (count - i) : 0;  // zeros: unchanged, so inside
  if (padded)
    addChange(Tail<T>(x + i, count - i, T{}).values, Tail<T>(p + i, count - i, T{}).values, rtol, atol, c);
  result.skipped = countLanes(c.skipped);
  result.outside = count - (countLanes(c.inside) - padded);
  result.sumAbsChange = addLanes(c.change);
  result.sumAbsPrevious = addLanes(c.previous);
  for (int k = 0; k < kVecs; ++k)
    for (int l = 0; l < 4; ++l) result.maxAbsChange = std::fmax(result.maxAbsChange, c.largest[k][l]);
}

template <typename T>
MSDBG_INLINE void activation(const T* data, std::int64_t count, double start, double end,
                             BlockActivation& result) {
  Mask inRange[kVecs] = {}, active[kVecs] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int k = 0; k < kVecs; ++k) {
      Vec v;
      load(data + i + 4 * k, v);
      inRange[k] += (v >= start) & (v <= end);
      active[k] += v > 0.0;
    }
  result.inRange = countLanes(inRange);
  result.active = countLanes(active);
  for (; i < count; ++i) {
    const double v = static_cast<double>(data[i]);
    result.inRange += v >= start && v <= end;
    result.active += v > 0.0;
  }
}

template <typename T>
MSDBG_INLINE void active(const T* data, std::int64_t count, std::int64_t* counts) {
  for (std::int64_t i = 0; i < count; ++i) counts[i] += static_cast<double>(data[i]) > 0.0;
}

// target_clones takes plain functions only, so each loop has one overload per storage type.
#define MSDBG_STORAGE_TYPES(X) X(float) X(double) X(std::int64_t) X(std::int32_t) X(std::uint8_t) X(BoolByte)
#define MSDBG_KERNELS(T)                                                                              \
  MSDBG_SIMD_CLONES void momentsOf(const T* x, std::int64_t n, BlockMoments& m) { moments(x, n, m); } \
  MSDBG_SIMD_CLONES void changeOf(const T* x, const T* p, std::int64_t n, double rtol, double atol,   \
                                  BlockChange& c) {                                                   \
    change(x, p, n, rtol, atol, c);                                                                   \
  }                                                                                                   \
  MSDBG_SIMD_CLONES void activationOf(const T* x, std::int64_t n, double start, double end,           \
                                      BlockActivation& a) {                                           \
    activation(x, n, start, end, a);                                                                  \
  }                                                                                                   \
  MSDBG_SIMD_CLONES void activeOf(const T* x, std::int64_t n, std::int64_t* counts) { active(x, n, counts); }
MSDBG_STORAGE_TYPES(MSDBG_KERNELS)

/// Calls f with data as a pointer to the storage type of a dtype that the engine computes in.
template <typename F>
void withStorage(DType dtype, const void* data, F&& f) {
  if (dtype == DType::Bool) return f(static_cast<const BoolByte*>(data));
  visitComputed(dtype, [&](auto type) {
    if constexpr (!std::is_same_v<decltype(type), bool>) f(static_cast<const decltype(type)*>(data));
  });
}

}  // namespace

BlockMoments blockMoments(DType dtype, const void* data, std::int64_t count, const void* next) {
  BlockMoments result;
  if (dtype == DType::Float32 &&
      finiteMoments(static_cast<const float*>(data), count, static_cast<const float*>(next), result))
    return result;
  if (!isComputed(dtype)) return convertedMoments(dtype, data, count);
  withStorage(dtype, data, [&](auto* x) { momentsOf(x, count, result); });
  return result;
}

BlockChange blockChange(DType dtype, const void* x, const void* previous, std::int64_t count, double rtol,
                        double atol) {
  BlockChange result;
  if (dtype == DType::Float32 && finiteChange(static_cast<const float*>(x),
                                              static_cast<const float*>(previous), count, rtol, atol, result))
    return result;
  if (!isComputed(dtype)) return convertedChange(dtype, x, previous, count, rtol, atol);
  withStorage(dtype, x,
              [&](auto* p) { changeOf(p, static_cast<decltype(p)>(previous), count, rtol, atol, result); });
  return result;
}

BlockActivation blockActivation(DType dtype, const void* data, std::int64_t count, double start, double end) {
  if (dtype == DType::Float32) return floatActivation(static_cast<const float*>(data), count, start, end);
  if (!isComputed(dtype)) return convertedActivation(dtype, data, count, start, end);
  BlockActivation result;
  withStorage(dtype, data, [&](auto* x) { activationOf(x, count, start, end, result); });
  return result;
}

void countActive(DType dtype, const void* data, std::int64_t count, std::int64_t* counts) {
  if (!isComputed(dtype)) return countConvertedActive(dtype, data, count, counts);
  withStorage(dtype, data, [&](auto* x) { activeOf(x, count, counts); });
}

}  // namespace msdbg::core
