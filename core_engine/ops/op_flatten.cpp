// Flatten: a matrix; dimensions before `axis` become rows, the others columns.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Flatten", inputs, {"X"}));
  const Shape& x = inputs[0].shape;
  const auto rank = static_cast<std::int64_t>(x.rank());
  const std::int64_t given = intAttribute(attributes, "axis", 1), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank)
    return inferError("Flatten", "axis " + std::to_string(given) + " does not split the " +
                                     std::to_string(rank) + " dimensions of X " + x.text());
  Shape matrix{1, 1};
  for (std::int64_t d = 0; d < rank; ++d) matrix[d < axis ? 0 : 1] *= x[static_cast<std::size_t>(d)];
  return std::vector<TensorType>{{inputs[0].dtype, matrix}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "Reshape", {}, with({}, "shape", b.input(0).shape()));
}

}  // namespace

OpDef flattenOp() {
  return {
      .name = "Flatten",
      .doc = "Y [product of the dimensions before axis, product of the others]. ONNX Flatten-13",
      .inputNames = {"X"},
      .outputNames = {"Y"},
      .dataTypes = DataTypes::kAny,
      .attributes = {{"axis", "int", "1", "first dimension of the columns; negative counts from the end"}},
      .infer = infer,
      .gradient = gradient,
      .reference = copyInput};
}

}  // namespace msdbg::core
