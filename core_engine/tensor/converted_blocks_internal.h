// Statistics of a block whose elements the loops of block_statistics.cpp do not know: small floats, most
// integers, complex numbers. Parts of the block are converted to float32 where that is exact, else to
// float64, and go through those loops. Pure; thread-safe.
#pragma once

#include <cstdint>

#include "core_engine/tensor/block_statistics.h"

namespace msdbg::core {

/// As blockMoments(), blockChange(), blockActivation() and countActive().
BlockMoments convertedMoments(DType dtype, const void* data, std::int64_t count);
BlockChange convertedChange(DType dtype, const void* x, const void* previous, std::int64_t count, double rtol,
                            double atol);
BlockActivation convertedActivation(DType dtype, const void* data, std::int64_t count, double start,
                                    double end);
void countConvertedActive(DType dtype, const void* data, std::int64_t count, std::int64_t* active);

}  // namespace msdbg::core
