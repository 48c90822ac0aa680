// Exp: Y = e^X.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Exp", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (b.wanted(0)) gradients[0] = b.apply1("Mul", {*b.outputGradient(0), b.output(0)});
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::exp(x); });
}

}  // namespace

OpDef expOp() { return unaryOp("Exp", "Y = e^X. ONNX Exp-13", infer, gradient, reference); }

}  // namespace msdbg::core
