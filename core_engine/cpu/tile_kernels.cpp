#include "core_engine/cpu/tile_kernels.h"

#include "core_engine/base/simd.h"

namespace msdbg::core::cpu {

using std::int32_t;
using std::int64_t;

MSDBG_SIMD_CLONES void reluTile(const float* x, float* y, int64_t n) { mapBody<ReluOf>(x, y, n); }
MSDBG_SIMD_CLONES void sigmoidTile(const float* x, float* y, int64_t n) { mapBody<SigmoidOf>(x, y, n); }
MSDBG_SIMD_CLONES void tanhTile(const float* x, float* y, int64_t n) { mapBody<TanhOf>(x, y, n); }

MSDBG_SIMD_CLONES void expTile(const float* x, float* y, int64_t n) { mapBody<ExpOf>(x, y, n); }
MSDBG_SIMD_CLONES void logTile(const float* x, float* y, int64_t n) { mapBody<LogOf>(x, y, n); }
MSDBG_SIMD_CLONES void sqrtTile(const float* x, float* y, int64_t n) { mapBody<SqrtOf>(x, y, n); }
MSDBG_SIMD_CLONES void erfTile(const float* x, float* y, int64_t n) { mapBody<ErfOf>(x, y, n); }
MSDBG_SIMD_CLONES void geluTile(const float* x, float* y, int64_t n) { mapBody<GeluOf>(x, y, n); }
MSDBG_SIMD_CLONES void geluGradTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y,
                                    int64_t n) {
  combineBody<GeluGradOf>(a, sa, b, sb, y, n);
}

MSDBG_SIMD_CLONES void addTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) {
  combineBody<AddOf>(a, sa, b, sb, y, n);
}
MSDBG_SIMD_CLONES void subTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) {
  combineBody<SubOf>(a, sa, b, sb, y, n);
}
MSDBG_SIMD_CLONES void mulTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) {
  combineBody<MulOf>(a, sa, b, sb, y, n);
}
MSDBG_SIMD_CLONES void divTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y, int64_t n) {
  combineBody<DivOf>(a, sa, b, sb, y, n);
}
MSDBG_SIMD_CLONES void reluGradTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y,
                                    int64_t n) {
  combineBody<ReluGradOf>(a, sa, b, sb, y, n);
}
MSDBG_SIMD_CLONES void sigmoidGradTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y,
                                       int64_t n) {
  combineBody<SigmoidGradOf>(a, sa, b, sb, y, n);
}
MSDBG_SIMD_CLONES void tanhGradTile(const float* a, int64_t sa, const float* b, int64_t sb, float* y,
                                    int64_t n) {
  combineBody<TanhGradOf>(a, sa, b, sb, y, n);
}

MSDBG_SIMD_CLONES double sumTile(const float* x, int64_t n) { return sumBody(x, n); }
MSDBG_SIMD_CLONES double dotTile(const float* a, const float* b, int64_t n) { return dotBody(a, b, n); }
MSDBG_SIMD_CLONES void addRowTile(const float* x, double* sums, int64_t n) { addRowBody(x, sums, n); }

MSDBG_SIMD_CLONES float largestTile(const float* x, int64_t n) { return largestBody(x, n); }
MSDBG_SIMD_CLONES void shiftedExpTile(const float* x, float shift, float* y, int64_t n) {
  shiftedExpBody(x, shift, y, n);
}
MSDBG_SIMD_CLONES void divideTile(float* y, float divisor, int64_t n) { divideBody(y, divisor, n); }
MSDBG_SIMD_CLONES void scaledExpTile(const float* x, float scale, float* y, int64_t n) {
  scaledExpBody(x, scale, y, n);
}
MSDBG_SIMD_CLONES void shiftTwiceTile(const float* x, float first, float second, float* y, int64_t n) {
  shiftTwiceBody(x, first, second, y, n);
}
MSDBG_SIMD_CLONES void logSoftmaxGradTile(const float* dy, const float* y, float sum, float* dx, int64_t n) {
  logSoftmaxGradBody(dy, y, sum, dx, n);
}
MSDBG_SIMD_CLONES void softmaxGradTile(const float* dy, const float* y, float dot, float* dx, int64_t n) {
  softmaxGradBody(dy, y, dot, dx, n);
}

MSDBG_SIMD_CLONES double squaresTile(const float* x, double mean, int64_t n) {
  return squaresBody(x, mean, n);
}
MSDBG_SIMD_CLONES double centredDotTile(const float* a, const float* x, double mean, int64_t n) {
  return centredDotBody(a, x, mean, n);
}
MSDBG_SIMD_CLONES void normalTile(const float* x, const NormalSettings& s, float* y, int64_t n) {
  normalBody(x, s, y, n);
}
MSDBG_SIMD_CLONES void normalRowTile(const float* x, float mean, float inverse, const float* scale,
                                     const float* shift, float* y, int64_t n) {
  normalRowBody(x, mean, inverse, scale, shift, y, n);
}
MSDBG_SIMD_CLONES void normalGradTile(const float* dy, const float* x, const NormalGradSettings& s, float* dx,
                                      int64_t n) {
  normalGradBody(dy, x, s, dx, n);
}
MSDBG_SIMD_CLONES void addNormalRowTile(const float* dy, const float* x, double mean, double inverse,
                                        double* products, double* sums, int64_t n) {
  addNormalRowBody(dy, x, mean, inverse, products, sums, n);
}

MSDBG_SIMD_CLONES void adamTile(const AdamStep& s, const AdamArrays& a, int64_t n) {
  adamBody(s, a.p, a.g, a.mean, a.square, a.next, a.nextMean, a.nextSquare, n);
}
MSDBG_SIMD_CLONES void sgdTile(const SgdSettings& s, const float* p, const float* g, float* next, int64_t n) {
  sgdBody(s, p, g, next, n);
}
MSDBG_SIMD_CLONES void sgdMomentumTile(const SgdSettings& s, const float* p, const float* g,
                                       const float* state, float* next, float* nextState, int64_t n) {
  sgdMomentumBody(s, p, g, state, next, nextState, n);
}

MSDBG_SIMD_CLONES void poolRowTile(const float* x, int32_t first, int32_t stride, float* best, int32_t* index,
                                   int64_t n) {
  switch (stride) {
    case 1:
      return poolRowBody<1>(x, first, stride, best, index, n);
    case 2:
      return poolRowBody<2>(x, first, stride, best, index, n);
    default:
      return poolRowBody<0>(x, first, stride, best, index, n);
  }
}

MSDBG_SIMD_CLONES void transposeBlockTile(const float* from, int64_t fromStride, float* to,
                                          int64_t toStride) {
  transposeBlockBody(from, fromStride, to, toStride);
}

}  // namespace msdbg::core::cpu
