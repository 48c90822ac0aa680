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

/// 16 elements, or fewer, then zeros. Halves are read from memory again: taking them out of the register
/// waits for the units that add and multiply.
struct Elements {
  __m512 all;
  __m512d halves[2];
  __mmask16 lanes;  // that are elements
};
MSDBG_AVX512 inline __attribute__((always_inline)) Elements load(const float* data) {
  return {_mm512_loadu_ps(data),
          {_mm512_cvtps_pd(_mm256_loadu_ps(data)), _mm512_cvtps_pd(_mm256_loadu_ps(data + 8))},
          0xffff};
}
MSDBG_AVX512 Elements loadSome(const float* data, __mmask16 lanes) {
  const __m512 all = _mm512_maskz_loadu_ps(lanes, data);
  return {all,
          {_mm512_cvtps_pd(_mm512_castps512_ps256(all)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(all, 1))},
          lanes};
}

bool isWhole(std::int64_t count) { return count == static_cast<std::int64_t>(kBlockBytes / sizeof(float)); }

MSDBG_AVX512 std::int64_t countOf(__mmask16 lanes) { return __builtin_popcount(lanes); }

struct Sums {
  __m512d sum[2], sumAbs[2], sumSquares[2];
  __m512 min, max;
  std::int64_t zero, negative;
};

MSDBG_AVX512 inline __attribute__((always_inline)) void add(const Elements& v, Sums& s) {
#pragma GCC unroll 2  // else the sums lie in memory
  for (int k = 0; k < 2; ++k) {
    s.sum[k] = _mm512_add_pd(s.sum[k], v.halves[k]);
    // As a sum it waits for the same two units as the others; multiplied by one it is the same number.
    s.sumAbs[k] = _mm512_fmadd_pd(_mm512_abs_pd(v.halves[k]), _mm512_set1_pd(1), s.sumAbs[k]);
    s.sumSquares[k] = _mm512_fmadd_pd(v.halves[k], v.halves[k], s.sumSquares[k]);
  }
  s.min = _mm512_mask_min_ps(s.min, v.lanes, s.min, v.all);
  s.max = _mm512_mask_max_ps(s.max, v.lanes, s.max, v.all);
  s.zero += countOf(_mm512_mask_cmp_ps_mask(v.lanes, v.all, _mm512_setzero_ps(), _CMP_EQ_OQ));
  s.negative += countOf(_mm512_cmp_ps_mask(v.all, _mm512_setzero_ps(), _CMP_LT_OQ));
}

MSDBG_AVX512 Sums noSums() {
  Sums s = {};
  s.min = _mm512_set1_ps(std::numeric_limits<float>::infinity());
  s.max = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  return s;
}

MSDBG_AVX512 FloatSums folded(const Sums& s) {
  return {addLanes(s.sum[0], s.sum[1]),
          addLanes(s.sumAbs[0], s.sumAbs[1]),
          addLanes(s.sumSquares[0], s.sumSquares[1]),
          _mm512_reduce_min_ps(s.min),
          _mm512_reduce_max_ps(s.max),
          s.zero,
          s.negative};
}

// Arithmetic takes longer than reading: what is needed next comes from memory meanwhile.
MSDBG_AVX512 void sums(const float* data, std::int64_t count, const float* next, FloatSums& out) {
  Sums s = noSums();
  std::int64_t i = 0;
  if (isWhole(count) && next) {
    for (; i < count; i += kLanes) {
      _mm_prefetch(reinterpret_cast<const char*>(next + i), _MM_HINT_T1);
      add(load(data + i), s);
    }
  }
  for (; i + kLanes <= count; i += kLanes) add(load(data + i), s);
  if (i < count) add(loadSome(data + i, lanesLeft(count - i)), s);
  out = folded(s);
}

struct Changes {
  __m512d change[2], before[2], largest[2];
  std::int64_t inside;
};

// Sums as products with one: those wait for other units than additions, and are the same numbers.
MSDBG_AVX512 inline __attribute__((always_inline)) void addChange(const Elements& x, const Elements& p,
                                                                  double rtol, double atol, Changes& c) {
  const __m512d one = _mm512_set1_pd(1);
  unsigned within = 0;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const __m512d d = _mm512_abs_pd(_mm512_sub_pd(x.halves[k], p.halves[k])),
                  size = _mm512_abs_pd(p.halves[k]);
    c.change[k] = _mm512_fmadd_pd(d, one, c.change[k]);
    c.before[k] = _mm512_fmadd_pd(size, one, c.before[k]);
    c.largest[k] = _mm512_max_pd(d, c.largest[k]);
    // Two roundings, as everywhere: not a fused multiply-add.
    const __m512d limit = _mm512_add_pd(_mm512_set1_pd(atol), _mm512_mul_pd(_mm512_set1_pd(rtol), size));
    within |= static_cast<unsigned>(_mm512_cmp_pd_mask(d, limit, _CMP_LE_OQ)) << 8 * k;
  }
  c.inside += countOf(static_cast<__mmask16>(within & x.lanes));
}

MSDBG_AVX512 FloatChange folded(const Changes& c) {
  return {addLanes(c.change[0], c.change[1]), addLanes(c.before[0], c.before[1]),
          _mm512_reduce_max_pd(_mm512_max_pd(c.largest[0], c.largest[1])), c.inside};
}

MSDBG_AVX512 void changeOf(const float* x, const float* previous, std::int64_t count, double rtol,
                           double atol, FloatChange& out) {
  Changes c = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) addChange(load(x + i), load(previous + i), rtol, atol, c);
  if (i < count) {
    const __mmask16 lanes = lanesLeft(count - i);
    addChange(loadSome(x + i, lanes), loadSome(previous + i, lanes), rtol, atol, c);
  }
  out = folded(c);
}

MSDBG_AVX512 void activation(const float* data, std::int64_t count, float start, float end,
                             BlockActivation& out) {
  const __m512 starts = _mm512_set1_ps(start), ends = _mm512_set1_ps(end);
  std::int64_t inRange = 0, active = 0;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanesLeft(count - i);
    const __m512 v = _mm512_maskz_loadu_ps(lanes, data + i);
    const __mmask16 above = _mm512_mask_cmp_ps_mask(lanes, v, starts, _CMP_GE_OQ);
    inRange += countOf(_mm512_mask_cmp_ps_mask(above, v, ends, _CMP_LE_OQ));
    active += countOf(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ));
  }
  out = {inRange, active};
}

MSDBG_AVX512 std::int64_t units(const float* data, std::int64_t count, float start, float end,
                                const UnitRuns& runs, std::int64_t* active) {
  const __m512 starts = _mm512_set1_ps(start), ends = _mm512_set1_ps(end);
  std::int64_t inRange = 0;
  PositiveBits positive;
  for (std::int64_t first = 0; first < count; first += 64) {
    std::uint64_t word = 0;
    for (std::int64_t i = first; i < std::min(first + 64, count); i += kLanes) {
      const __mmask16 lanes = lanesLeft(count - i);
      const __m512 v = _mm512_maskz_loadu_ps(lanes, data + i);
      const __mmask16 above = _mm512_mask_cmp_ps_mask(lanes, v, starts, _CMP_GE_OQ);
      inRange += countOf(_mm512_mask_cmp_ps_mask(above, v, ends, _CMP_LE_OQ));
      word |= static_cast<std::uint64_t>(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ))
              << (i - first);
    }
    positive.words[static_cast<std::size_t>(first / 64)] = word;
  }
  positive.addRuns(count, runs, active);
  return inRange;
}

}  // namespace

const FloatKernels* avx512FloatKernels() {
  static constexpr FloatKernels kKernels = {sums, changeOf, activation, units};
  const bool here = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("fma");
  return here ? &kKernels : nullptr;
}

}  // namespace msdbg::core

#else

namespace msdbg::core {
const FloatKernels* avx512FloatKernels() { return nullptr; }
}  // namespace msdbg::core

#endif
