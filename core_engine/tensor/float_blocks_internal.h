// What is counted most, once more and faster: the sums of one block of finite float32 elements, in one pass
// where block_statistics.cpp takes three. The same lanes, combined in the same order, so every kernel gives
// the same bits. Pure; thread-safe.
#pragma once

#include <cstdint>

#include "core_engine/tensor/block_statistics.h"

namespace msdbg::core {

/// As blockMoments(), blockChange() and blockActivation(). False: an element is not finite, nothing is filled
/// in.
bool finiteMoments(const float* data, std::int64_t count, BlockMoments& moments);
bool finiteChange(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                  BlockChange& change);
BlockActivation floatActivation(const float* data, std::int64_t count, double start, double end);

// What they are made of, for the test that compares the kernels of different instruction sets.

/// Squares of float32 are exact in double, so that adding them in one instruction or two makes no difference.
struct FloatSums {
  double sum = 0, sumAbs = 0,
         sumSquares = 0;  // NaN or Inf in sumAbs: an element is not finite, the rest is void
  double min = 0, max = 0;
  std::int64_t zero = 0, negative = 0;
};

/// |x-p| and |p|; NaN or Inf in one of the sums: an element is not finite, the rest is void.
struct FloatChange {
  double sumAbsChange = 0, sumAbsPrevious = 0, maxAbsChange = 0;
  std::int64_t inside = 0;  // |x-p| <= atol + rtol |p|
};
void floatSumsPlain(const float* data, std::int64_t count, FloatSums& sums);
void floatChangePlain(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                      FloatChange& change);
bool hasAvx512Kernels();  // false: the two below do not exist here
void floatSumsAvx512(const float* data, std::int64_t count, FloatSums& sums);
void floatChangeAvx512(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                       FloatChange& change);

}  // namespace msdbg::core
