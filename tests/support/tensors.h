// Tensors written down in a test.
#pragma once

#include <vector>

#include "core_engine/tensor/tensor.h"

namespace msdbg::test {

inline core::Tensor floats(core::Shape shape, const std::vector<float>& values) {
  return core::Tensor::of<float>(std::move(shape), values);
}

inline core::Tensor int64s(core::Shape shape, const std::vector<std::int64_t>& values) {
  return core::Tensor::of<std::int64_t>(std::move(shape), values);
}

}  // namespace msdbg::test
