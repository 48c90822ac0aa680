// Identity: a copy.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/copy.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  MSDBG_TRY(checkInputs("Identity", inputs, {"X"}));
  return std::vector{inputs[0]};
}

Gradients gradient(GradientBuilder& b) { return unaryGradient(b, "Identity"); }

}  // namespace

OpDef identityOp() {
  return {.name = "Identity",
          .doc = "Y = X, any dtype. ONNX Identity-14",
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .dataTypes = DataTypes::kAny,
          .infer = infer,
          .gradient = gradient,
          .reference = copyInput};
}

}  // namespace msdbg::core
