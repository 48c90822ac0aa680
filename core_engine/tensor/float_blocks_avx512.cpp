// GCC makes two narrow conversions and a blend of what is one instruction, so that the loops of
// float_blocks.cpp take 1.6 times as long as these (64 KiB in the L2 cache of a Zen 4 core: 17 against 26
// GB/s).
#include "core_engine/tensor/float_blocks_internal.h"

#if defined(__x86_64__)
// g++ 12 takes its own intrinsics' undefined registers for a mistake (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <limits>

#define MSDBG_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))

namespace msdbg::core {
namespace {

constexpr std::int64_t kLanes = 16;

// Lanes 0 to 7 and 8 to 15; in the order of float_blocks.cpp.
MSDBG_AVX512 double addLanes(__m512d low, __m512d high) {
  const __m512d s = _mm512_add_pd(low, high);
  const __m256d t = _mm256_add_pd(_mm512_castpd512_pd256(s), _mm512_extractf64x4_pd(s, 1));
  const __m128d u = _mm_add_pd(_mm256_castpd256_pd128(t), _mm256_extractf128_pd(t, 1));
  return _mm_cvtsd_f64(u) + _mm_cvtsd_f64(_mm_unpackhi_pd(u, u));
}

MSDBG_AVX512 __mmask16 lanesLeft(std::int64_t count) {
  return count >= kLanes ? __mmask16(0xffff) : static_cast<__mmask16>((1u << count) - 1);
}
MSDBG_AVX512 __m512d lowHalf(__m512 v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); }
MSDBG_AVX512 __m512d highHalf(__m512 v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)); }

struct Sums {
  __m512d sum[2], sumAbs[2], sumSquares[2];
  __m512 min, max;
  __m512i zero, negative;
};

// `lanes` outside of which v is zero.
MSDBG_AVX512 inline __attribute__((always_inline)) void add(__m512 v, __mmask16 lanes, Sums& s) {
  const __m512i one = _mm512_set1_epi32(1);
  const __m512d halves[2] = {lowHalf(v), highHalf(v)};
  for (int k = 0; k < 2; ++k) {
    s.sum[k] = _mm512_add_pd(s.sum[k], halves[k]);
    // As a sum it waits for the same two units as the others; multiplied by one it is the same number.
    s.sumAbs[k] = _mm512_fmadd_pd(_mm512_abs_pd(halves[k]), _mm512_set1_pd(1), s.sumAbs[k]);
    s.sumSquares[k] = _mm512_fmadd_pd(halves[k], halves[k], s.sumSquares[k]);
  }
  s.min = _mm512_mask_min_ps(s.min, lanes, s.min, v);
  s.max = _mm512_mask_max_ps(s.max, lanes, s.max, v);
  s.zero = _mm512_mask_add_epi32(s.zero, _mm512_mask_cmp_ps_mask(lanes, v, _mm512_setzero_ps(), _CMP_EQ_OQ),
                                 s.zero, one);
  s.negative = _mm512_mask_add_epi32(s.negative, _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ),
                                     s.negative, one);
}

}  // namespace

bool hasAvx512Kernels() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("fma");
}

MSDBG_AVX512 void floatSumsAvx512(const float* data, std::int64_t count, FloatSums& out) {
  Sums s = {};
  s.min = _mm512_set1_ps(std::numeric_limits<float>::infinity());
  s.max = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) add(_mm512_loadu_ps(data + i), 0xffff, s);
  if (i < count) {
    const __mmask16 lanes = lanesLeft(count - i);
    add(_mm512_maskz_loadu_ps(lanes, data + i), lanes, s);
  }
  out = {addLanes(s.sum[0], s.sum[1]),
         addLanes(s.sumAbs[0], s.sumAbs[1]),
         addLanes(s.sumSquares[0], s.sumSquares[1]),
         _mm512_reduce_min_ps(s.min),
         _mm512_reduce_max_ps(s.max),
         _mm512_reduce_add_epi32(s.zero),
         _mm512_reduce_add_epi32(s.negative)};
}

MSDBG_AVX512 void floatChangeAvx512(const float* x, const float* previous, std::int64_t count, double rtol,
                                    double atol, FloatChange& out) {
  const __m512d rtols = _mm512_set1_pd(rtol), atols = _mm512_set1_pd(atol);
  __m512d change[2] = {}, before[2] = {}, largest[2] = {};
  std::int64_t inside = 0;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanesLeft(count - i);
    const __m512 a = _mm512_maskz_loadu_ps(lanes, x + i), b = _mm512_maskz_loadu_ps(lanes, previous + i);
    const __m512d as[2] = {lowHalf(a), highHalf(a)}, bs[2] = {lowHalf(b), highHalf(b)};
    for (int k = 0; k < 2; ++k) {
      const __m512d d = _mm512_abs_pd(_mm512_sub_pd(as[k], bs[k])), p = _mm512_abs_pd(bs[k]);
      change[k] = _mm512_add_pd(change[k], d);
      before[k] = _mm512_add_pd(before[k], p);
      largest[k] = _mm512_max_pd(d, largest[k]);
      // Two roundings, as everywhere: not a fused multiply-add.
      const __m512d limit = _mm512_add_pd(atols, _mm512_mul_pd(rtols, p));
      const auto within = static_cast<__mmask8>(_mm512_cmp_pd_mask(d, limit, _CMP_LE_OQ) & (lanes >> 8 * k));
      inside += __builtin_popcount(within);
    }
  }
  out = {addLanes(change[0], change[1]), addLanes(before[0], before[1]),
         _mm512_reduce_max_pd(_mm512_max_pd(largest[0], largest[1])), inside};
}

}  // namespace msdbg::core

#else

namespace msdbg::core {

bool hasAvx512Kernels() { return false; }
void floatSumsAvx512(const float* data, std::int64_t count, FloatSums& sums) {
  floatSumsPlain(data, count, sums);
}
void floatChangeAvx512(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                       FloatChange& change) {
  floatChangePlain(x, previous, count, rtol, atol, change);
}

}  // namespace msdbg::core
#endif
