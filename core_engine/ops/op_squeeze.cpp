// Squeeze: without some (default: all) dimensions of 1.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

/// Which dimensions go.
Result<std::vector<bool>> dropped(const Shape& x, const Attributes& attributes) {
  const Ints axes = intsAttribute(attributes, "axes", {});
  std::vector<bool> drop(x.rank(), false);
  for (std::size_t d = 0; d < x.rank(); ++d) drop[d] = axes.empty() && x[d] == 1;
  for (std::int64_t axis : axes) {
    MSDBG_ASSIGN(const std::size_t d, checkAxis("Squeeze", axis, x.rank()));
    if (x[d] != 1)
      return inferError("Squeeze", "dimension " + std::to_string(d) + " of data " + x.text() + " is not 1");
    drop[d] = true;
  }
  return drop;
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("Squeeze", inputs, {"data"}));
  const Shape& x = inputs[0].shape;
  MSDBG_ASSIGN(const std::vector<bool> drop, dropped(x, attributes));
  Ints dims;
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (!drop[d]) dims.push_back(x[d]);
  return std::vector<TensorType>{{inputs[0].dtype, Shape(std::move(dims))}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "Reshape", {}, with({}, "shape", b.input(0).shape()));
}

}  // namespace

OpDef squeezeOp() {
  return {.name = "Squeeze",
          .doc = "data without some dimensions of 1, any dtype. ONNX Squeeze-13 with axes as an attribute",
          .inputNames = {"data"},
          .outputNames = {"squeezed"},
          .dataTypes = DataTypes::kAny,
          .attributes = {{"axes", "ints", "every 1", "dimensions to drop; negative counts from the end"}},
          .infer = infer,
          .gradient = gradient,
          .reference = copyInput};
}

}  // namespace msdbg::core
