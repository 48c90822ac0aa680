// Erf: the error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to X.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Erf", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "ErfGrad"); }

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::erf(x); });
}

}  // namespace

OpDef erfOp() {
  return unaryOp("Erf", "Y = erf(X), the error function. ONNX Erf-13", infer, gradient, reference);
}

}  // namespace msdbg::core
