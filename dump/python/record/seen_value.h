// Values of a framework as our tensors.
#pragma once

#include "core_engine/tensor/tensor.h"

namespace msdbg::dump {

/// A value where the framework has it: dense, row-major, in the host's memory, until the call returns.
struct SeenValue {
  const void* data = nullptr;
  core::DType dtype = core::DType::Float32;
  std::span<const std::int64_t> dims;
};

/// The framework's memory as a Tensor, which must not outlive the call.
core::Tensor borrowed(const SeenValue& value);
/// Of that type and shape, without bytes.
core::Tensor withoutBytes(const core::Tensor& like);
/// The same elements in a shape that a graph gives: where that is known and of as many elements, or of one
/// dimension ([-1]: their number differs). Otherwise the value as it is.
core::Tensor inShapeOf(const core::Tensor& value, const core::Shape& graph);

}  // namespace msdbg::dump
