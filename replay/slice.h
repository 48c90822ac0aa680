// Parts of a tensor, written as NumPy writes them. Pure functions; thread-safe.
#pragma once

#include <string>

#include "core_engine/base/result.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::replay {

/// NumPy's basic slicing: `0,:,3:5`, `-1`, `::2`, `...`. Steps are positive. kUsage names the part and the
/// dimension.
core::Result<core::Tensor> sliceTensor(const core::Tensor& tensor, const std::string& slice);
/// Whether sliceTensor() can cut it from a tensor of this shape, all of which is known. The same errors.
core::Status checkSlice(const core::Shape& shape, const std::string& slice);

}  // namespace msdbg::replay
