// Unsqueeze: with new dimensions of 1.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Unsqueeze", inputs, {"data"}));
  const Ints axes = intsAttribute(attributes, "axes", {});
  std::vector<bool> added(inputs[0].shape.rank() + axes.size(), false);
  for (std::int64_t axis : axes) {
    MSDBG_ASSIGN(const std::size_t d, checkAxis("Unsqueeze", axis, added.size()));
    if (added[d])
      return inferError("Unsqueeze", "attribute axes names dimension " + std::to_string(d) + " twice");
    added[d] = true;
  }
  Ints dims;
  for (std::size_t d = 0, from = 0; d < added.size(); ++d)
    dims.push_back(added[d] ? 1 : inputs[0].shape[from++]);
  return std::vector<TensorType>{{inputs[0].dtype, Shape(std::move(dims))}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "Reshape", {}, with({}, "shape", b.input(0).shape()));
}

}  // namespace

OpDef unsqueezeOp() {
  return {.name = "Unsqueeze",
          .doc = "data with new dimensions of 1, any dtype. ONNX Unsqueeze-13 with axes as an attribute",
          .inputNames = {"data"},
          .outputNames = {"expanded"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"axes", "ints", "required",
                          "where they are in the result; negative counts from its end"}},
          .infer = infer,
          .gradient = gradient,
          .reference = copyInput};
}

}  // namespace msdbg::core
