// LeakyRelu: Y = X where X >= 0, else alpha * X.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("LeakyRelu", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "LeakyReluGrad"); }

Status reference(const KernelArgs& args) {
  const double alpha = floatAttribute(args.node.attributes, "alpha", 0.01);
  return mapUnary(args, [=](double x) { return x < 0 ? alpha * x : x; });
}

}  // namespace

OpDef leakyReluOp() {
  OpDef op = unaryOp("LeakyRelu", "Y = X where X >= 0, else alpha * X. ONNX LeakyRelu-16", infer, gradient,
                     reference);
  op.attributes = {{"alpha", "float", "0.01", "slope below 0"}};
  op.activation = true;
  return op;
}

}  // namespace msdbg::core
