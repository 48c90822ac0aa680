// The loops of the element-wise and reduction kernels, as bodies that are inlined into functions compiled for
// several instruction sets (tile_kernels.cpp; tests compile them for each one alone and compare bits). An
// element's result depends on that element only; sums have 16 lanes whose number and order of folding never
// change. (Only where two NaNs meet, the instruction decides whose payload stays.) Thread-safe.
#pragma once

#include <cstring>

#include "core_engine/base/vec_math.h"
#include "core_engine/ops/element_formulas.h"

namespace msdbg::core::cpu {

// --- element-wise ---

template <typename Op>
MSDBG_INLINE void mapBody(const float* __restrict x, float* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = Op::of(x[i]);
}
/// strideA, strideB: 1, or 0 where one value serves the whole tile.
template <typename Op>
MSDBG_INLINE void combineBody(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB,
                              float* __restrict y, std::int64_t n) {
  if (strideA == 0) {
    const float left = *a;
    for (std::int64_t i = 0; i < n; ++i) y[i] = Op::of(left, b[i]);
  } else if (strideB == 0) {
    const float right = *b;
    for (std::int64_t i = 0; i < n; ++i) y[i] = Op::of(a[i], right);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = Op::of(a[i], b[i]);
  }
}

// --- sums: float32 added up in 16 double lanes ---

constexpr std::int64_t kLanes = 16;
typedef float Quad __attribute__((vector_size(16)));
typedef double QuadOfDouble
    __attribute__((vector_size(32)));  // by reference only: its calling convention varies

MSDBG_INLINE void loadQuad(const float* p, QuadOfDouble& out) {
  Quad quad;
  std::memcpy(&quad, p, sizeof quad);
  out = __builtin_convertvector(quad, QuadOfDouble);
}
MSDBG_INLINE double foldLanes(const QuadOfDouble* lanes) {
  const QuadOfDouble s = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  return (s[0] + s[2]) + (s[1] + s[3]);
}
/// The last elements of a row, filled up with zeros to the 16 lanes.
struct LaneTail {
  float values[kLanes] = {};
  MSDBG_INLINE LaneTail(const float* x, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = x[i];
  }
};

MSDBG_INLINE void addLanes(const float* x, QuadOfDouble* lanes) {
  for (int k = 0; k < 4; ++k) {
    QuadOfDouble v;
    loadQuad(x + 4 * k, v);
    lanes[k] += v;
  }
}
MSDBG_INLINE double sumBody(const float* x, std::int64_t n) {
  QuadOfDouble lanes[4] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) addLanes(x + i, lanes);
  if (i < n) addLanes(LaneTail(x + i, n - i).values, lanes);
  return foldLanes(lanes);
}

MSDBG_INLINE void addProductLanes(const float* a, const float* b, QuadOfDouble* lanes) {
  for (int k = 0; k < 4; ++k) {
    QuadOfDouble v, w;
    loadQuad(a + 4 * k, v);
    loadQuad(b + 4 * k, w);
    lanes[k] += v * w;
  }
}
MSDBG_INLINE double dotBody(const float* a, const float* b, std::int64_t n) {
  QuadOfDouble lanes[4] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) addProductLanes(a + i, b + i, lanes);
  if (i < n) addProductLanes(LaneTail(a + i, n - i).values, LaneTail(b + i, n - i).values, lanes);
  return foldLanes(lanes);
}

/// sums[j] += x[j]: a row of a column sum.
MSDBG_INLINE void addRowBody(const float* x, double* __restrict sums, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) sums[j] += static_cast<double>(x[j]);
}

// --- lines of Softmax ---

/// The largest of x, n >= 1. With NaN among x any element may come out; exp(x - it) is NaN at the NaN all the
/// same.
MSDBG_INLINE float largestBody(const float* x, std::int64_t n) {
  float lanes[kLanes];
  for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = x[0];
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (std::int64_t l = 0; i < n; ++i, ++l) lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l];
  float largest = lanes[0];
  for (std::int64_t l = 1; l < kLanes; ++l) largest = lanes[l] > largest ? lanes[l] : largest;
  return largest;
}
/// y = e^(x - shift)
MSDBG_INLINE void shiftedExpBody(const float* __restrict x, float shift, float* __restrict y,
                                 std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = vecExp(x[i] - shift);
}
/// y = y / divisor
MSDBG_INLINE void divideBody(float* y, float divisor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] / divisor;
}
/// y = e^x * scale
MSDBG_INLINE void scaledExpBody(const float* __restrict x, float scale, float* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = vecExp(x[i]) * scale;
}
/// y = (x - first) - second
MSDBG_INLINE void shiftTwiceBody(const float* __restrict x, float first, float second, float* __restrict y,
                                 std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - first) - second;
}
/// dx = dy - e^y * sum
MSDBG_INLINE void logSoftmaxGradBody(const float* __restrict dy, const float* __restrict y, float sum,
                                     float* __restrict dx, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] - vecExp(y[i]) * sum;
}
/// dx = (dy - dot) * y
MSDBG_INLINE void softmaxGradBody(const float* __restrict dy, const float* __restrict y, float dot,
                                  float* __restrict dx, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = (dy[i] - dot) * y[i];
}

// --- optimizer: computed in double, each stored value rounded once, as the reference does ---
// What is stored may lie where what it replaces does: `ivdep` lets GCC vectorise all the same (an element is
// read before it is written, and no other is).

MSDBG_INLINE void sgdBody(const SgdSettings& s, const float* p, const float* g, float* next, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) next[i] = sgdOf(s, p[i], g[i]);
}
MSDBG_INLINE void sgdMomentumBody(const SgdSettings& s, const float* p, const float* g, const float* state,
                                  float* next, float* nextState, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) sgdMomentumOf(s, p[i], g[i], state[i], next[i], nextState[i]);
}

// --- pooling: one row of windows ---

/// Takes x[at] into the best of each of n windows, where `at` starts at `first` and goes `stride` to the
/// right per window.
template <int kStride>
MSDBG_INLINE void poolRowBody(const float* __restrict x, std::int32_t first, std::int32_t anyStride,
                              float* __restrict best, std::int32_t* __restrict index, std::int64_t n) {
  const std::int32_t stride = kStride > 0 ? kStride : anyStride;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t at = static_cast<std::int32_t>(i) * stride;
    const float v = x[at], b = best[i];
    const bool better = beats(v, b);
    best[i] = better ? v : b;
    index[i] = better ? first + at : index[i];
  }
}

/// 2 x 2 windows side by side over two rows: y[i] = the best of x[2i], x[2i+1] and the two below.
MSDBG_INLINE void maxOfPairsBody(const float* __restrict x, std::int64_t rowStride, float* __restrict y,
                                 std::int64_t n) {
  const float* __restrict below = x + rowStride;
  for (std::int64_t i = 0; i < n; ++i) {
    float best = x[2 * i];
    best = beats(x[2 * i + 1], best) ? x[2 * i + 1] : best;
    best = beats(below[2 * i], best) ? below[2 * i] : best;
    y[i] = beats(below[2 * i + 1], best) ? below[2 * i + 1] : best;
  }
}
/// The gradient of each window goes to the place of its best value, the other three get zero.
MSDBG_INLINE void routePairsBody(const float* __restrict x, std::int64_t rowStride,
                                 const float* __restrict dy, float* __restrict dx, std::int64_t n) {
  const float* __restrict below = x + rowStride;
  float* __restrict dxBelow = dx + rowStride;
  for (std::int64_t i = 0; i < n; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1], c = below[2 * i], d = below[2 * i + 1];
    const bool second = beats(b, a);
    const float ab = second ? b : a;
    const bool third = beats(c, ab);
    const float abc = third ? c : ab;
    const bool fourth = beats(d, abc);
    const float g = dy[i] + 0.0f;  // the reference's sums begin with 0: -0 becomes 0
    dx[2 * i] = second | third | fourth ? 0.0f : g;
    dx[2 * i + 1] = second & !third & !fourth ? g : 0.0f;
    dxBelow[2 * i] = third & !fourth ? g : 0.0f;
    dxBelow[2 * i + 1] = fourth ? g : 0.0f;
  }
}

// --- transposing ---

constexpr std::int64_t kTransposeBlock = 8;
typedef float OctOfFloat __attribute__((vector_size(32)));

/// to[i * toStride + j] = from[i + j * fromStride] for 8 x 8 values of 4 bytes: in registers, pairs, quads,
/// halves.
MSDBG_INLINE void transposeBlockBody(const float* from, std::int64_t fromStride, float* to,
                                     std::int64_t toStride) {
  OctOfFloat r[8], s[8];
  for (int j = 0; j < 8; ++j) std::memcpy(&r[j], from + j * fromStride, sizeof r[j]);
  for (int j = 0; j < 8; j += 2) {
    s[j] = __builtin_shufflevector(r[j], r[j + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    s[j + 1] = __builtin_shufflevector(r[j], r[j + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int h = 0; h < 8; h += 4)
    for (int k = 0; k < 2; ++k) {
      r[h + 2 * k] = __builtin_shufflevector(s[h + k], s[h + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[h + 2 * k + 1] = __builtin_shufflevector(s[h + k], s[h + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int k = 0; k < 4; ++k) {
    s[k] = __builtin_shufflevector(r[k], r[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[k + 4] = __builtin_shufflevector(r[k], r[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; ++i) std::memcpy(to + i * toStride, &s[i], sizeof s[i]);
}

}  // namespace msdbg::core::cpu
