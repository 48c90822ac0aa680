// HardSwish: Y = X * HardSigmoid(X) with slope 1/6 and 1/2 at 0.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("HardSwish", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "HardSwishGrad"); }

Status reference(const KernelArgs& args) {
  return mapUnary(args, [=](double x) { return x * clamped(x / 6 + 0.5, 0.0, 1.0); });
}

}  // namespace

OpDef hardSwishOp() {
  OpDef op = unaryOp("HardSwish", "Y = X * max(0, min(1, X / 6 + 1/2)). ONNX HardSwish-14", infer, gradient,
                     reference);
  op.activation = true;
  return op;
}

}  // namespace msdbg::core
