// The loops that element-wise, reduction and update kernels run on a part of a tensor. Each is compiled for
// plain x86-64, AVX2 and AVX-512; the loader takes the widest that the CPU has, and all give the same bits.
// Formulas: tile_bodies.h, norm_bodies.h. Pure functions on memory the caller owns; thread-safe.
#pragma once

#include <cstdint>

#include "core_engine/cpu/norm_bodies.h"
#include "core_engine/cpu/tile_bodies.h"

namespace msdbg::core::cpu {

/// y[i] = f(x[i])
using UnaryTile = void (*)(const float* x, float* y, std::int64_t n);
void reluTile(const float* x, float* y, std::int64_t n);
void sigmoidTile(const float* x, float* y, std::int64_t n);
void tanhTile(const float* x, float* y, std::int64_t n);
void expTile(const float* x, float* y, std::int64_t n);
void logTile(const float* x, float* y, std::int64_t n);
void sqrtTile(const float* x, float* y, std::int64_t n);
void erfTile(const float* x, float* y, std::int64_t n);
void geluTile(const float* x, float* y, std::int64_t n);

/// y[i] = f(a[i * strideA], b[i * strideB]); strides are 1, or 0 for an operand that is one value. y overlaps
/// neither.
using BinaryTile = void (*)(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB,
                            float* y, std::int64_t n);
void addTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
             std::int64_t n);
void subTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
             std::int64_t n);
void mulTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
             std::int64_t n);
void divTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
             std::int64_t n);
void reluGradTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
                  std::int64_t n);
void sigmoidGradTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
                     std::int64_t n);
void tanhGradTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
                  std::int64_t n);

void geluGradTile(const float* a, std::int64_t strideA, const float* b, std::int64_t strideB, float* y,
                  std::int64_t n);

double sumTile(const float* x, std::int64_t n);
double dotTile(const float* a, const float* b, std::int64_t n);
void addRowTile(const float* x, double* sums, std::int64_t n);

float largestTile(const float* x, std::int64_t n);
void shiftedExpTile(const float* x, float shift, float* y, std::int64_t n);
void divideTile(float* y, float divisor, std::int64_t n);
void scaledExpTile(const float* x, float scale, float* y, std::int64_t n);
void shiftTwiceTile(const float* x, float first, float second, float* y, std::int64_t n);
void logSoftmaxGradTile(const float* dy, const float* y, float sum, float* dx, std::int64_t n);
void softmaxGradTile(const float* dy, const float* y, float dot, float* dx, std::int64_t n);

double squaresTile(const float* x, double mean, std::int64_t n);
double centredDotTile(const float* a, const float* x, double mean, std::int64_t n);
void normalTile(const float* x, const NormalSettings& s, float* y, std::int64_t n);
void normalRowTile(const float* x, float mean, float inverse, const float* scale, const float* shift,
                   float* y, std::int64_t n);
void normalGradTile(const float* dy, const float* x, const NormalGradSettings& s, float* dx, std::int64_t n);
void addNormalRowTile(const float* dy, const float* x, double mean, double inverse, double* products,
                      double* sums, std::int64_t n);

void adamTile(const AdamStep& s, const AdamArrays& a, std::int64_t n);
void sgdTile(const SgdSettings& s, const float* p, const float* g, float* next, std::int64_t n);
void sgdMomentumTile(const SgdSettings& s, const float* p, const float* g, const float* state, float* next,
                     float* nextState, std::int64_t n);

void poolRowTile(const float* x, std::int32_t first, std::int32_t stride, float* best, std::int32_t* index,
                 std::int64_t n);
void maxOfPairsTile(const float* x, std::int64_t rowStride, float* y, std::int64_t n);
void routePairsTile(const float* x, std::int64_t rowStride, const float* dy, float* dx, std::int64_t n);

void transposeBlockTile(const float* from, std::int64_t fromStride, float* to, std::int64_t toStride);

}  // namespace msdbg::core::cpu
