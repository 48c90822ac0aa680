// Cos: the cosine.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Cos", inputs, {"X"});
}

/// -dY * sin(X)
Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (!b.wanted(0)) return gradients;
  const Value slope = b.apply1("Neg", {b.apply1("Sin", {b.input(0)})});
  gradients[0] = b.apply1("Mul", {*b.outputGradient(0), slope});
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::cos(x); });
}

}  // namespace

OpDef cosOp() { return unaryOp("Cos", "Y = cos(X), X in radians. ONNX Cos-7", infer, gradient, reference); }

}  // namespace msdbg::core
