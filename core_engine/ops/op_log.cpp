// Log: the natural logarithm; -infinity at 0, NaN below.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Log", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (b.wanted(0)) gradients[0] = b.apply1("Div", {*b.outputGradient(0), b.input(0)});
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::log(x); });
}

}  // namespace

OpDef logOp() {
  return unaryOp("Log", "Y = ln(X); -inf at 0, NaN below. ONNX Log-13", infer, gradient, reference);
}

}  // namespace msdbg::core
