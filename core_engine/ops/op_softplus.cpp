// Softplus: Y = ln(1 + e^X), which overflows nowhere.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Softplus", inputs, {"X"});
}

/// dY * sigmoid(X)
Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (b.wanted(0)) gradients[0] = b.apply1("Mul", {*b.outputGradient(0), b.apply1("Sigmoid", {b.input(0)})});
  return gradients;
}

Status reference(const KernelArgs& args) {
  return mapUnary(args,
                  [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); });
}

}  // namespace

OpDef softplusOp() {
  return unaryOp("Softplus", "Y = ln(1 + e^X), without overflow. ONNX Softplus-1", infer, gradient,
                 reference);
}

}  // namespace msdbg::core
