// Tensors for people, abbreviated, and as JSON. Pure functions.
#pragma once

#include <string>

#include "app/cli/json_output.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::app {

/// Like NumPy's str(): more than 1000 elements are abbreviated to three at each end of a dimension.
std::string tensorText(const core::Tensor& tensor, int indent);

/// Nested arrays, every element.
Json tensorJson(const core::Tensor& tensor);

}  // namespace msdbg::app
