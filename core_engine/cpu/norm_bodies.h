// The loops of the normalisations and of Adam, inlined as those of tile_bodies.h: an element's result depends
// on that element only, sums have 16 lanes whose folding never changes. Thread-safe.
#pragma once

#include "core_engine/cpu/tile_bodies.h"

namespace msdbg::core::cpu {

/// lanes += (x - mean)^2 for 16 elements.
MSDBG_INLINE void addSquareLanes(const float* x, double mean, QuadOfDouble* lanes) {
  for (int k = 0; k < 4; ++k) {
    QuadOfDouble v;
    loadQuad(x + 4 * k, v);
    v -= mean;
    lanes[k] += v * v;
  }
}
/// sum((x - mean)^2); what does not fill the lanes is summed by itself.
MSDBG_INLINE double squaresBody(const float* x, double mean, std::int64_t n) {
  QuadOfDouble lanes[4] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) addSquareLanes(x + i, mean, lanes);
  double tail = 0;
  for (; i < n; ++i) {
    const double v = static_cast<double>(x[i]) - mean;
    tail += v * v;
  }
  return foldLanes(lanes) + tail;
}

/// sum(a * (x - mean))
MSDBG_INLINE double centredDotBody(const float* a, const float* x, double mean, std::int64_t n) {
  QuadOfDouble lanes[4] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < 4; ++k) {
      QuadOfDouble v, w;
      loadQuad(a + i + 4 * k, v);
      loadQuad(x + i + 4 * k, w);
      w -= mean;
      lanes[k] += v * w;
    }
  double tail = 0;
  for (; i < n; ++i) tail += static_cast<double>(a[i]) * (static_cast<double>(x[i]) - mean);
  return foldLanes(lanes) + tail;
}

MSDBG_INLINE void normalBody(const float* __restrict x, const NormalSettings& settings, float* __restrict y,
                             std::int64_t n) {
  const NormalSettings s = settings;
  for (std::int64_t i = 0; i < n; ++i) y[i] = normalOf(s, x[i]);
}
/// y = (x - mean) * inverse * scale + shift, scale and shift per element
MSDBG_INLINE void normalRowBody(const float* __restrict x, float mean, float inverse,
                                const float* __restrict scale, const float* __restrict shift,
                                float* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + shift[i];
}

MSDBG_INLINE void normalGradBody(const float* __restrict dy, const float* __restrict x,
                                 const NormalGradSettings& settings, float* __restrict dx, std::int64_t n) {
  const NormalGradSettings s = settings;
  for (std::int64_t i = 0; i < n; ++i) dx[i] = normalGradOf(s, dy[i], x[i]);
}

/// products += dy * (x - mean) * inverse, sums += dy: a row of LayerNormalization's column sums.
MSDBG_INLINE void addNormalRowBody(const float* __restrict dy, const float* __restrict x, double mean,
                                   double inverse, double* __restrict products, double* __restrict sums,
                                   std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double gradient = static_cast<double>(dy[j]);
    products[j] += gradient * ((static_cast<double>(x[j]) - mean) * inverse);
    sums[j] += gradient;
  }
}

struct AdamArrays {
  const float *p, *g, *mean, *square;
  float *next, *nextMean, *nextSquare;
};
/// op_adam_update.cpp's formula, operation by operation. What is stored may lie where what it replaces does.
MSDBG_INLINE void adamBody(const AdamStep& settings, const float* p, const float* g, const float* mean,
                           const float* square, float* next, float* nextMean, float* nextSquare,
                           std::int64_t n) {
  const AdamStep s = settings;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i)
    adamOf(s, p[i], g[i], mean[i], square[i], next[i], nextMean[i], nextSquare[i]);
}

}  // namespace msdbg::core::cpu
