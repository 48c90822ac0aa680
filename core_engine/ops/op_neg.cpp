// Neg: Y = -X.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Neg", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return unaryGradient(b, "Neg"); }

Status reference(const KernelArgs& args) {
  return mapUnary(args, [](double x) { return -x; });
}

}  // namespace

OpDef negOp() { return unaryOp("Neg", "Y = -X. ONNX Neg-13", infer, gradient, reference); }

}  // namespace msdbg::core
