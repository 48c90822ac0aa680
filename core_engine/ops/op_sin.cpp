// Sin: the sine.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Sin", inputs, {"X"});
}

/// dY * cos(X)
Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (b.wanted(0)) gradients[0] = b.apply1("Mul", {*b.outputGradient(0), b.apply1("Cos", {b.input(0)})});
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::sin(x); });
}

}  // namespace

OpDef sinOp() { return unaryOp("Sin", "Y = sin(X), X in radians. ONNX Sin-7", infer, gradient, reference); }

}  // namespace msdbg::core
