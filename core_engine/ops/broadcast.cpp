#include "core_engine/ops/broadcast.h"

#include <algorithm>

#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

/// Dimension d of `shape` when it is aligned to the end of `rank` dimensions; 1 where it is not there.
std::int64_t alignedDim(const Shape& shape, std::size_t rank, std::size_t d) {
  const std::size_t missing = rank - shape.rank();
  return d < missing ? 1 : shape[d - missing];
}

}  // namespace

std::optional<Shape> broadcastShape(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t left = alignedDim(a, rank, d), right = alignedDim(b, rank, d);
    if (left != right && left != 1 && right != 1) return std::nullopt;
    dims[d] = left == 1 ? right : left;
  }
  return Shape(std::move(dims));
}

std::vector<std::int64_t> broadcastStrides(const Shape& shape, const Shape& out) {
  const std::vector<std::int64_t> own = shape.strides();
  const std::size_t missing = out.rank() - shape.rank();
  std::vector<std::int64_t> strides(out.rank(), 0);
  for (std::size_t d = missing; d < out.rank(); ++d) {
    if (shape[d - missing] != 1) strides[d] = own[d - missing];
  }
  return strides;
}

std::int64_t stridedOffset(std::int64_t flat, std::span<const std::int64_t> dims,
                           std::span<const std::int64_t> strides) {
  std::int64_t offset = 0;
  for (std::size_t d = dims.size(); d-- > 0;) {
    offset += flat % dims[d] * strides[d];
    flat /= dims[d];
  }
  return offset;
}

Result<std::vector<TensorType>> inferBroadcast(std::string_view op, std::span<const TensorType> inputs) {
  MSDBG_TRY(checkFloatingInputs(op, inputs, {"A", "B"}));
  const std::optional<Shape> shape = broadcastShape(inputs[0].shape, inputs[1].shape);
  if (!shape)
    return inferError(op, "A is " + inputs[0].shape.text() + " but B is " + inputs[1].shape.text() +
                              ": dimensions from the last on must be equal or 1");
  return std::vector<TensorType>{{inputs[0].dtype, *shape}};
}

Status widenShape(std::string_view op, std::string_view name, const TensorType& input, Shape& shape) {
  const std::optional<Shape> wider = broadcastShape(input.shape, shape);
  if (!wider)
    return inferError(op, describeInput(name, input) + ", which does not broadcast with " + shape.text() +
                              ": dimensions from the last on must be equal or 1");
  shape = *wider;
  return Ok{};
}

Result<std::vector<TensorType>> inferNumbers(std::string_view op, std::span<const TensorType> inputs,
                                             std::optional<DType> result) {
  MSDBG_TRY(checkInputs(op, inputs, {"A", "B"}));
  MSDBG_TRY(checkDType(op, "B", inputs[1], inputs[0].dtype));
  Shape shape = inputs[0].shape;
  MSDBG_TRY(widenShape(op, "B", inputs[1], shape));
  return std::vector<TensorType>{{result.value_or(inputs[0].dtype), shape}};
}

}  // namespace msdbg::core
