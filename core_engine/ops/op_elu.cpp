// Elu: Y = X where X >= 0, else alpha * (e^X - 1).
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("Elu", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "EluGrad"); }

Status reference(const KernelArgs& args) {
  const double alpha = floatAttribute(args.node.attributes, "alpha", 1);
  return mapUnary(args, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

}  // namespace

OpDef eluOp() {
  OpDef op =
      unaryOp("Elu", "Y = X where X >= 0, else alpha * (e^X - 1). ONNX Elu-6", infer, gradient, reference);
  op.attributes = {{"alpha", "float", "1", "minus the limit at -infinity"}};
  op.activation = true;
  return op;
}

}  // namespace msdbg::core
