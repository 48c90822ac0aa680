// The loops of float_blocks.cpp need more registers than AVX2 has, and GCC makes a comparison and a blend of
// what is one instruction: these take a third of their time for sums and half of it for changes (64 KiB in
// the L2 cache of a Zen 3 core: 8 against 21 and 5.5 against 11 GB/s). The 16 lanes are two halves, one after
// the other: a half's sums fit.
#include "core_engine/tensor/float_blocks_internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cmath>
#include <cstring>

#define MSDBG_AVX2 __attribute__((target("avx2,fma,popcnt")))
#define MSDBG_AVX2_INLINE MSDBG_AVX2 inline __attribute__((always_inline))

namespace msdbg::core {
namespace {

constexpr std::int64_t kLanes = 16, kHalf = 8;
constexpr std::int64_t kNear = 2048;  // elements that both halves find in the nearest cache

MSDBG_AVX2_INLINE __m256d absolute(__m256d v) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), v); }
// As a sum it waits for the same units as the others; multiplied by one it is the same number.
MSDBG_AVX2_INLINE __m256d addTo(__m256d sum, __m256d v) { return _mm256_fmadd_pd(v, _mm256_set1_pd(1), sum); }
MSDBG_AVX2_INLINE __m256d load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }

// Lanes 0 to 3, 4 to 7, …; in the order of float_blocks.cpp.
MSDBG_AVX2_INLINE double addLanes(const __m256d (&low)[2], const __m256d (&high)[2]) {
  const __m256d s = _mm256_add_pd(_mm256_add_pd(low[0], high[0]), _mm256_add_pd(low[1], high[1]));
  const __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
  return _mm_cvtsd_f64(t) + _mm_cvtsd_f64(_mm_unpackhi_pd(t, t));
}
MSDBG_AVX2_INLINE std::int64_t addCounts(__m256i low, __m256i high) {  // of 32 bits
  std::int32_t lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), _mm256_add_epi32(low, high));
  std::int64_t sum = 0;
  for (const std::int32_t lane : lanes) sum += lane;
  return sum;
}
MSDBG_AVX2_INLINE __m256i countIn(__m256i count, __m256 mask) {
  return _mm256_sub_epi32(count, _mm256_castps_si256(mask));
}

/// One half of the lanes.
struct Sums {
  __m256d sum[2] = {}, sumAbs[2] = {}, sumSquares[2] = {};
  __m256 min, max;
  __m256i zero = {}, negative = {};

  MSDBG_AVX2_INLINE Sums() : min(_mm256_set1_ps(INFINITY)), max(_mm256_set1_ps(-INFINITY)) {}

  MSDBG_AVX2_INLINE void order(__m256 v) {
    min = _mm256_min_ps(v, min);
    max = _mm256_max_ps(v, max);
    zero = countIn(zero, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_EQ_OQ));
    negative = countIn(negative, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ));
  }
  MSDBG_AVX2_INLINE void add(const float* p) {
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      const __m256d v = load(p + 4 * k);
      sum[k] = _mm256_add_pd(sum[k], v);
      sumAbs[k] = addTo(sumAbs[k], absolute(v));
      sumSquares[k] = _mm256_fmadd_pd(v, v, sumSquares[k]);  // squares of float32 are exact
    }
  }
};

// Arithmetic takes longer than reading: what is needed next comes from memory meanwhile.
template <bool kFetch>
MSDBG_AVX2_INLINE void addHalf(const float* data, std::int64_t count, const float* next, Sums& total) {
  Sums s = total;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    if constexpr (kFetch) _mm_prefetch(reinterpret_cast<const char*>(next + i), _MM_HINT_T1);
    s.add(data + i);
    s.order(_mm256_loadu_ps(data + i));
  }
  total = s;
}

MSDBG_AVX2 void sums(const float* data, std::int64_t count, const float* next, FloatSums& out) {
  Sums low, high;
  const bool fetch = next && count == static_cast<std::int64_t>(kBlockBytes / sizeof(float));
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kNear) {
    const std::int64_t part = std::min(kNear, whole - i);
    if (fetch)
      addHalf<true>(data + i, part, next + i, low);
    else
      addHalf<false>(data + i, part, nullptr, low);
    addHalf<false>(data + i + kHalf, part, nullptr, high);
  }
  float rest[kLanes] = {};  // zeros change no sum, and one of the elements changes neither end
  const std::int64_t left = count - whole, padded = left ? kLanes - left : 0;
  if (left) {
    std::memcpy(rest, data + whole, static_cast<std::size_t>(left) * sizeof(float));
    low.add(rest);
    high.add(rest + kHalf);
    std::fill(rest + left, rest + kLanes, rest[0]);
    low.order(_mm256_loadu_ps(rest));
    high.order(_mm256_loadu_ps(rest + kHalf));
  }
  float least[8], most[8];
  _mm256_storeu_ps(least, _mm256_min_ps(low.min, high.min));
  _mm256_storeu_ps(most, _mm256_max_ps(low.max, high.max));
  out = {addLanes(low.sum, high.sum),
         addLanes(low.sumAbs, high.sumAbs),
         addLanes(low.sumSquares, high.sumSquares),
         *std::min_element(least, least + 8),
         *std::max_element(most, most + 8),
         addCounts(low.zero, high.zero) - (rest[0] == 0 ? padded : 0),
         addCounts(low.negative, high.negative) - (rest[0] < 0 ? padded : 0)};
}

/// One half of the lanes.
struct Changes {
  __m256d change[2] = {}, before[2] = {}, largest[2] = {};
  __m256i inside[2] = {};  // of 64 bits

  MSDBG_AVX2_INLINE void add(const float* x, const float* p, __m256d rtol, __m256d atol) {
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      const __m256d b = load(p + 4 * k), d = absolute(_mm256_sub_pd(load(x + 4 * k), b)), size = absolute(b);
      change[k] = addTo(change[k], d);
      before[k] = addTo(before[k], size);
      largest[k] = _mm256_max_pd(d, largest[k]);
      // Two roundings, as everywhere: not a fused multiply-add.
      const __m256d limit = _mm256_add_pd(atol, _mm256_mul_pd(rtol, size));
      inside[k] = _mm256_sub_epi64(inside[k], _mm256_castpd_si256(_mm256_cmp_pd(d, limit, _CMP_LE_OQ)));
    }
  }
};

MSDBG_AVX2_INLINE void addHalf(const float* x, const float* p, std::int64_t count, __m256d rtol, __m256d atol,
                               Changes& total) {
  Changes c = total;
  for (std::int64_t i = 0; i < count; i += kLanes) c.add(x + i, p + i, rtol, atol);
  total = c;
}

MSDBG_AVX2 void changeOf(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                         FloatChange& out) {
  Changes low, high;
  const __m256d r = _mm256_set1_pd(rtol), a = _mm256_set1_pd(atol);
  const std::int64_t whole = count / kLanes * kLanes, left = count - whole;
  for (std::int64_t i = 0; i < whole; i += kNear) {
    const std::int64_t part = std::min(kNear, whole - i);
    addHalf(x + i, previous + i, part, r, a, low);
    addHalf(x + i + kHalf, previous + i + kHalf, part, r, a, high);
  }
  if (left) {  // zeros: unchanged, so inside
    float restX[kLanes] = {}, restP[kLanes] = {};
    std::memcpy(restX, x + whole, static_cast<std::size_t>(left) * sizeof(float));
    std::memcpy(restP, previous + whole, static_cast<std::size_t>(left) * sizeof(float));
    low.add(restX, restP, r, a);
    high.add(restX + kHalf, restP + kHalf, r, a);
  }
  double largest[4];
  std::int64_t inside[4];
  _mm256_storeu_pd(largest, _mm256_max_pd(_mm256_max_pd(low.largest[0], low.largest[1]),
                                          _mm256_max_pd(high.largest[0], high.largest[1])));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(inside),
                      _mm256_add_epi64(_mm256_add_epi64(low.inside[0], low.inside[1]),
                                       _mm256_add_epi64(high.inside[0], high.inside[1])));
  out = {addLanes(low.change, high.change), addLanes(low.before, high.before),
         *std::max_element(largest, largest + 4),
         inside[0] + inside[1] + inside[2] + inside[3] - (left ? kLanes - left : 0)};
}

MSDBG_AVX2_INLINE std::uint64_t bitsOf(__m256 mask) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_ps(mask)));
}

/// Eight elements; of those beyond `left` nothing is read.
MSDBG_AVX2_INLINE __m256 loadSome(const float* data, std::int64_t left) {
  if (left >= 8) return _mm256_loadu_ps(data);
  const __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_maskload_ps(data, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(left)), place));
}

MSDBG_AVX2 std::int64_t units(const float* data, std::int64_t count, float start, float end,
                              const UnitRuns& runs, std::int64_t* active) {
  const __m256 starts = _mm256_set1_ps(start), ends = _mm256_set1_ps(end), none = _mm256_setzero_ps();
  std::int64_t inRange = 0;
  PositiveBits positive;
  for (std::int64_t first = 0; first < count; first += 64) {
    const std::int64_t size = std::min<std::int64_t>(64, count - first);
    std::uint64_t above = 0, within = 0;
    for (std::int64_t i = 0; i < size; i += 8) {
      const __m256 v = loadSome(data + first + i, size - i);
      const __m256 in =
          _mm256_and_ps(_mm256_cmp_ps(v, starts, _CMP_GE_OQ), _mm256_cmp_ps(v, ends, _CMP_LE_OQ));
      above |= bitsOf(_mm256_cmp_ps(v, none, _CMP_GT_OQ)) << i;
      within |= bitsOf(in) << i;
    }
    positive.words[static_cast<std::size_t>(first / 64)] = above;
    if (size < 64) within &= (std::uint64_t{1} << size) - 1;  // what was not read is zero
    inRange += __builtin_popcountll(within);
  }
  positive.addRuns(count, runs, active);
  return inRange;
}

}  // namespace

const FloatKernels* avx2FloatKernels() {
  static const FloatKernels kernels = {sums, changeOf, kPlainFloatKernels.activation, units};
  const bool here =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
  return here ? &kernels : nullptr;
}

}  // namespace msdbg::core

#else

namespace msdbg::core {
const FloatKernels* avx2FloatKernels() { return nullptr; }
}  // namespace msdbg::core

#endif
