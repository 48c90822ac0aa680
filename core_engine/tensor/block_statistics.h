// The inner loops of statistics.h: one block of at most kBlockBytes at a time, in 16 fixed lanes (element i
// belongs to lane i mod 16, lanes are combined pairwise), so that every instruction set gives the same bits.
// Pure; thread-safe.
#pragma once

#include <cstdint>

#include "core_engine/tensor/dtype.h"

namespace msdbg::core {

struct BlockMoments {
  std::int64_t finite = 0, nan = 0, posInf = 0, negInf = 0, zero = 0, negative = 0;
  double min = 0, max = 0;  // +inf and -inf when no element is finite
  double sum = 0, sumAbs = 0, sumSquares = 0;
  double mean = 0, squaredDeviations = 0;  // sum of (x - mean)^2 over the finite elements
};
/// Adds block b to the total: Chan, Golub and LeVeque 1979, "Updating formulae … for computing sample
/// variances". A total begins as `noMoments()`.
void combine(BlockMoments& total, const BlockMoments& b);
BlockMoments noMoments();

/// `next`: as many bytes that will be read next, or nullptr; a hint.
BlockMoments blockMoments(DType dtype, const void* data, std::int64_t count, const void* next = nullptr);

struct BlockChange {
  std::int64_t skipped = 0, outside = 0;
  double sumAbsChange = 0, sumAbsPrevious = 0, maxAbsChange = 0;
};
BlockChange blockChange(DType dtype, const void* x, const void* previous, std::int64_t count, double rtol,
                        double atol);

struct BlockActivation {
  std::int64_t inRange = 0, active = 0;  // start <= x <= end; x > 0
};
BlockActivation blockActivation(DType dtype, const void* data, std::int64_t count, double start, double end);
/// active[i] += 1 where element i > 0.
void countActive(DType dtype, const void* data, std::int64_t count, std::int64_t* active);

}  // namespace msdbg::core
