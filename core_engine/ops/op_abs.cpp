// Abs: Y = |X|.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Abs", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "AbsGrad"); }

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return std::abs(x); });
}

}  // namespace

OpDef absOp() {
  return unaryOp("Abs", "Y = |X|; the gradient at 0 is 0. ONNX Abs-13", infer, gradient, reference);
}

}  // namespace msdbg::core
