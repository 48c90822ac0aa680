// NumPy broadcasting (https://numpy.org/doc/stable/user/basics.broadcasting.html): shapes are aligned at
// their last dimension; a dimension of 1 or one that is not there repeats. Pure functions; thread-safe.
#pragma once

#include <vector>

#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/op.h"

namespace msdbg::core {

/// nullopt when the shapes do not fit.
std::optional<Shape> broadcastShape(const Shape& a, const Shape& b);
/// Element strides that walk `shape` in the index space of `out`: 0 where it repeats.
std::vector<std::int64_t> broadcastStrides(const Shape& shape, const Shape& out);
/// sum(index[d] * strides[d]) of the row-major flat index `flat` in dims.
std::int64_t stridedOffset(std::int64_t flat, std::span<const std::int64_t> dims,
                           std::span<const std::int64_t> strides);
/// infer of Add, Sub, Mul, Div.
Result<std::vector<TensorType>> inferBroadcast(std::string_view op, std::span<const TensorType> inputs);

/// y = f(a, b) with broadcasting, computed in double; a row (the last dimension) at a time.
template <typename F>
Status mapBroadcast(const KernelArgs& args, const F& f) {
  const Shape& shape = args.outputs[0]->shape();
  if (args.inputs[0]->shape() == args.inputs[1]->shape()) return mapBinary(args, f);
  const std::vector<std::int64_t> strideA = broadcastStrides(args.inputs[0]->shape(), shape);
  const std::vector<std::int64_t> strideB = broadcastStrides(args.inputs[1]->shape(), shape);
  const std::int64_t length = shape[shape.rank() - 1], rows = length == 0 ? 0 : shape.elements() / length;
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    parallelFor(rows, args.state.threads, 64, [&](std::int64_t row) {
      const T* a = args.inputs[0]->data<T>().data() + stridedOffset(row * length, shape.dims(), strideA);
      const T* b = args.inputs[1]->data<T>().data() + stridedOffset(row * length, shape.dims(), strideB);
      T* y = args.outputs[0]->data<T>().data() + row * length;
      for (std::int64_t i = 0; i < length; ++i)
        y[i] = static_cast<T>(
            f(static_cast<double>(a[i * strideA.back()]), static_cast<double>(b[i * strideB.back()])));
    });
  });
  return Ok{};
}

}  // namespace msdbg::core
