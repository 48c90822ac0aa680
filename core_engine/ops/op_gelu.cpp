// Gelu: the Gaussian error linear unit, by erf or by its tanh approximation (gelu.h).
#include "core_engine/ops/gelu.h"
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkGelu("Gelu", attributes));
  return inferSameShape("Gelu", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "GeluGrad"); }

Status reference(const KernelArgs& args) {
  const bool byTanh = geluByTanh(args.node.attributes);
  return mapUnary(args, [byTanh](double x) { return byTanh ? geluTanh(x) : geluErf(x); });
}

}  // namespace

OpDef geluOp() {
  OpDef op = unaryOp("Gelu",
                     "Y = X * (1 + erf(X / sqrt(2))) / 2, or X * (1 + tanh(sqrt(2/pi) * (X + 0.044715 X^3))) "
                     "/ 2. ONNX Gelu-20",
                     infer, gradient, reference);
  op.attributes = {{"approximate", "string", "none", "none (by erf) or tanh"}};
  op.activation = true;
  return op;
}

}  // namespace msdbg::core
