// 2 x 2 windows side by side. Rows are short (14, 5, 4 windows), so that a compiler's vector loop does nearly
// all of them one by one, with a branch per value that no CPU can foretell: masks take a row at once.
#include <algorithm>

#include "core_engine/cpu/tile_kernels.h"

#if defined(__x86_64__) && !defined(MSDBG_SANITIZE)
// g++ 12 takes its own intrinsics' undefined registers for a mistake (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#define MSDBG_AVX512 __attribute__((target("avx512f")))

namespace msdbg::core::cpu {
namespace {

/// The values of up to 16 windows, each at its place in the window.
struct Windows {
  __m512 a, b, c, d;
};

MSDBG_AVX512 inline __mmask16 lanesOf(std::int64_t count) {
  return count >= 16 ? __mmask16(0xffff)
                     : static_cast<__mmask16>((1u << std::max<std::int64_t>(count, 0)) - 1);
}
MSDBG_AVX512 inline __m512i evenLanes() {
  return _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
}
MSDBG_AVX512 inline void loadRow(const float* x, std::int64_t values, __m512& left, __m512& right) {
  const __m512 low = _mm512_maskz_loadu_ps(lanesOf(values), x),
               high = _mm512_maskz_loadu_ps(lanesOf(values - 16), x + 16);
  left = _mm512_permutex2var_ps(low, evenLanes(), high);
  right = _mm512_permutex2var_ps(low, _mm512_add_epi32(evenLanes(), _mm512_set1_epi32(1)), high);
}
MSDBG_AVX512 inline Windows load(const float* x, std::int64_t rowStride, std::int64_t windows) {
  Windows w;
  loadRow(x, 2 * windows, w.a, w.b);
  loadRow(x + rowStride, 2 * windows, w.c, w.d);
  return w;
}
/// Where v beats the best so far (tile_bodies.h); the best is replaced there.
MSDBG_AVX512 inline __mmask16 take(__m512 v, __m512& best) {
  const __mmask16 numbers = _mm512_cmp_ps_mask(best, best, _CMP_ORD_Q);
  const __mmask16 better = static_cast<__mmask16>(
      numbers & (_mm512_cmp_ps_mask(v, best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q)));
  best = _mm512_mask_mov_ps(best, better, v);
  return better;
}

MSDBG_AVX512 void maxOfPairs(const float* x, std::int64_t rowStride, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    Windows w = load(x + 2 * i, rowStride, std::min<std::int64_t>(n - i, 16));
    take(w.b, w.a);
    take(w.c, w.a);
    take(w.d, w.a);
    _mm512_mask_storeu_ps(y + i, lanesOf(n - i), w.a);
  }
}

MSDBG_AVX512 inline void storeRow(__m512 left, __m512 right, float* x, std::int64_t values) {
  const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  _mm512_mask_storeu_ps(x, lanesOf(values), _mm512_permutex2var_ps(left, low, right));
  _mm512_mask_storeu_ps(x + 16, lanesOf(values - 16), _mm512_permutex2var_ps(left, high, right));
}
MSDBG_AVX512 void routePairs(const float* x, std::int64_t rowStride, const float* dy, float* dx,
                             std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    const std::int64_t windows = std::min<std::int64_t>(n - i, 16);
    Windows w = load(x + 2 * i, rowStride, windows);
    const unsigned second = take(w.b, w.a), third = take(w.c, w.a), fourth = take(w.d, w.a);
    // The reference's sums begin with 0: -0 becomes 0.
    const __m512 g = _mm512_add_ps(_mm512_maskz_loadu_ps(lanesOf(windows), dy + i), _mm512_setzero_ps());
    const auto where = [&](unsigned lanes)
                           MSDBG_AVX512 { return _mm512_maskz_mov_ps(static_cast<__mmask16>(lanes), g); };
    storeRow(where(~(second | third | fourth)), where(second & ~(third | fourth)), dx + 2 * i, 2 * windows);
    storeRow(where(third & ~fourth), where(fourth), dx + 2 * i + rowStride, 2 * windows);
  }
}

bool hasAvx512() {
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
}

}  // namespace

void maxOfPairsTile(const float* x, std::int64_t rowStride, float* y, std::int64_t n) {
  hasAvx512() ? maxOfPairs(x, rowStride, y, n) : maxOfPairsBody(x, rowStride, y, n);
}
void routePairsTile(const float* x, std::int64_t rowStride, const float* dy, float* dx, std::int64_t n) {
  hasAvx512() ? routePairs(x, rowStride, dy, dx, n) : routePairsBody(x, rowStride, dy, dx, n);
}

}  // namespace msdbg::core::cpu

#else

namespace msdbg::core::cpu {

void maxOfPairsTile(const float* x, std::int64_t rowStride, float* y, std::int64_t n) {
  maxOfPairsBody(x, rowStride, y, n);
}
void routePairsTile(const float* x, std::int64_t rowStride, const float* dy, float* dx, std::int64_t n) {
  routePairsBody(x, rowStride, dy, dx, n);
}

}  // namespace msdbg::core::cpu
#endif
