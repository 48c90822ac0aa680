// Tensors for people and for NumPy: slices, abbreviated text, NPY files. Pure functions.
#pragma once

#include <filesystem>
#include <string>

#include "app/cli/json_output.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::app {

/// NumPy's basic slicing: `0,:,3:5`, `-1`, `::2`, `...`. Steps are positive. kUsage names the part and the
/// dimension.
core::Result<core::Tensor> sliceTensor(const core::Tensor& tensor, const std::string& slice);

/// Like NumPy's str(): more than 1000 elements are abbreviated to three at each end of a dimension.
std::string tensorText(const core::Tensor& tensor, int indent);

/// Nested arrays, every element.
Json tensorJson(const core::Tensor& tensor);

/// NPY format 1.0, C order, little-endian.
core::Status writeNpy(const std::filesystem::path& file, const core::Tensor& tensor);

}  // namespace msdbg::app
