// Sqrt: the square root; NaN below 0.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Sqrt", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (!b.wanted(0)) return gradients;
  const Value half = b.apply1("Mul", {*b.outputGradient(0), b.constant(0.5, b.input(0).dtype())});
  gradients[0] = b.apply1("Div", {half, b.output(0)});
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::sqrt(x); });
}

}  // namespace

OpDef sqrtOp() {
  return unaryOp("Sqrt", "Y = sqrt(X); NaN below 0. ONNX Sqrt-13", infer, gradient, reference);
}

}  // namespace msdbg::core
