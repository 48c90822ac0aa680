// The one sum of all communicators: parts in rank order, in the tensor's own dtype. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>

#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

/// output[i] = ((part_0[i] + part_1[i]) + part_2[i]) + … for `count` elements. Parts do not alias the output.
void sumInRankOrder(DType dtype, std::span<const std::byte* const> parts, std::byte* output,
                    std::size_t count);

/// kUsage: not floating, or input and output differ in dtype or shape.
Status checkReducible(const Tensor& input, const Tensor& output);

}  // namespace msdbg::core
