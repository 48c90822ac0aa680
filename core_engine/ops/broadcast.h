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

/// The same for inputs of any one dtype but bool; `result` (default: theirs) is the output's dtype.
Result<std::vector<TensorType>> inferNumbers(std::string_view op, std::span<const TensorType> inputs,
                                             std::optional<DType> result = {});
/// Checks that input i broadcasts with the shape so far, and widens it; kUsage names both.
Status widenShape(std::string_view op, std::string_view name, const TensorType& input, Shape& shape);

/// f(row, row * length) for every row (last dimension) of a tensor of this shape, shared among threads.
template <typename F>
void forRows(const Shape& shape, int threads, const F& f) {
  const std::int64_t length = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  const std::int64_t rows = length == 0 ? 0 : shape.elements() / length;
  parallelFor(rows, threads, 64, [&](std::int64_t row) { f(row * length, length); });
}

/// An operand of type T as the rows of a result walk it.
template <typename T>
struct Broadcast {
  const T* data;
  const Shape& out;
  std::vector<std::int64_t> strides;

  Broadcast(const Tensor& tensor, const Shape& result)
      : data(tensor.data<T>().data()), out(result), strides(broadcastStrides(tensor.shape(), result)) {}
  const T* at(std::int64_t flat) const { return data + stridedOffset(flat, out.dims(), strides); }
  std::int64_t step() const { return strides.empty() ? 0 : strides.back(); }
};

/// y = f(a, b) with broadcasting on numbers of type T, results of type U; a row at a time.
template <typename T, typename U, typename F>
void mapPairs(const KernelArgs& args, const F& f) {
  const Shape& shape = args.outputs[0]->shape();
  const Broadcast<T> left(*args.inputs[0], shape), right(*args.inputs[1], shape);
  U* y = args.outputs[0]->data<U>().data();
  forRows(shape, args.state.threads, [&](std::int64_t first, std::int64_t length) {
    const T *a = left.at(first), *b = right.at(first);
    for (std::int64_t i = 0; i < length; ++i) y[first + i] = f(a[i * left.step()], b[i * right.step()]);
  });
}

/// y = f(a, b) with broadcasting; floating-point numbers are computed in double.
template <typename F>
Status mapBroadcast(const KernelArgs& args, const F& f) {
  if (args.inputs[0]->shape() == args.inputs[1]->shape()) return mapBinary(args, f);
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    mapPairs<T, T>(
        args, [&](T a, T b) { return static_cast<T>(f(static_cast<double>(a), static_cast<double>(b))); });
  });
  return Ok{};
}

/// Bool f(a, b) on numbers of any dtype.
template <typename F>
Status compareBroadcast(const KernelArgs& args, const F& f) {
  visitComputed(args.inputs[0]->dtype(), [&](auto zero) { mapPairs<decltype(zero), bool>(args, f); });
  return Ok{};
}

}  // namespace msdbg::core
