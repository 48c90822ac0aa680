#include "core_engine/ops/infer.h"

#include <algorithm>

namespace msdbg::core {

Error inferError(std::string_view op, const std::string& message) {
  return {ErrorCode::kUsage, std::string(op) + ": " + message};
}

std::string describeInput(std::string_view name, const TensorType& type) {
  return std::string(name) + " is " + std::string(dtypeName(type.dtype)) + type.shape.text();
}

Status checkInputs(std::string_view op, InputTypes inputs, InputNames names, std::size_t minimum) {
  minimum = std::min(minimum, names.size());
  if (inputs.size() < minimum || inputs.size() > names.size()) {
    std::string wanted = std::to_string(minimum);
    if (minimum != names.size()) wanted += " to " + std::to_string(names.size());
    return inferError(op, "has " + std::to_string(inputs.size()) + " inputs, but takes " + wanted);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape.known()) continue;
    return Error(ErrorCode::kUnsupported, std::string(op) + ": " +
                                              describeInput(names.begin()[i], inputs[i]) +
                                              ", but every dimension must be known");
  }
  return Ok{};
}

Status checkFloatingInputs(std::string_view op, InputTypes inputs, InputNames names, std::size_t minimum) {
  MSDBG_TRY(checkInputs(op, inputs, names, minimum));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string what = describeInput(names.begin()[i], inputs[i]);
    if (!isComputedFloating(inputs[i].dtype) && !isRounded(inputs[i].dtype))
      return inferError(
          op, what + ", but float32 or float64 was expected; cast it first: cast(x, DType::Float32)" +
                  (isInteger(inputs[i].dtype) ? ", and back where an index is wanted" : ""));
    if (inputs[i].dtype != inputs[0].dtype)
      return inferError(
          op, what + " but " + describeInput(names.begin()[0], inputs[0]) + ": one dtype was expected");
  }
  return Ok{};
}

Status checkAnyInputs(std::string_view op, InputTypes inputs, std::string_view name) {
  if (inputs.empty()) return inferError(op, "has no inputs, but takes 1 or more");
  for (const TensorType& input : inputs) {
    if (input.shape.known()) continue;
    return Error(ErrorCode::kUnsupported,
                 std::string(op) + ": " + describeInput(name, input) + ", but every dimension must be known");
  }
  return Ok{};
}

Status checkRank(std::string_view op, std::string_view name, const TensorType& type, std::size_t rank) {
  if (type.shape.rank() == rank) return Ok{};
  return inferError(
      op, describeInput(name, type) + ", but " + std::to_string(rank) + " dimensions were expected");
}

Status checkDType(std::string_view op, std::string_view name, const TensorType& type, DType wanted) {
  if (type.dtype == wanted) return Ok{};
  return inferError(op,
                    describeInput(name, type) + ", but " + std::string(dtypeName(wanted)) + " was expected");
}

Status checkShape(std::string_view op, std::string_view name, const TensorType& type, const Shape& wanted) {
  if (type.shape == wanted) return Ok{};
  return inferError(op, describeInput(name, type) + ", but shape " + wanted.text() + " was expected");
}

Result<std::size_t> checkAxis(std::string_view op, std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis >= -n && axis < n) return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
  return inferError(op, "axis " + std::to_string(axis) + " is outside [" + std::to_string(-n) + ", " +
                            std::to_string(n - 1) + "] of an input with " + std::to_string(n) +
                            " dimensions");
}

Status checkSize(std::string_view op, std::string_view what, const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t elements = 1;
  bool good = true;
  for (std::int64_t d : shape.dims()) {
    good = good && d >= 0 && (d == 0 || elements <= kMost / d);
    if (good) elements *= d;
  }
  if (good) return Ok{};
  return inferError(op, std::string(what) + " is " + shape.text() + ", which no tensor can be");
}

Result<std::vector<TensorType>> inferSameShape(std::string_view op, InputTypes inputs, InputNames names) {
  MSDBG_TRY(checkFloatingInputs(op, inputs, names));
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    MSDBG_TRY(checkShape(op, names.begin()[i], inputs[i], inputs[0].shape));
  }
  return std::vector{inputs[0]};
}

}  // namespace msdbg::core
