// HardSigmoid: Y = alpha * X + beta, kept in [0, 1].
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("HardSigmoid", inputs, {"X"});
}

Gradients gradient(GradientBuilder& b) { return gradientFromInput(b, "HardSigmoidGrad"); }

Status reference(const KernelArgs& args) {
  const double alpha = floatAttribute(args.node.attributes, "alpha", 0.2);
  const double beta = floatAttribute(args.node.attributes, "beta", 0.5);
  return mapUnary(args, [=](double x) { return clamped(alpha * x + beta, 0.0, 1.0); });
}

}  // namespace

OpDef hardSigmoidOp() {
  OpDef op = unaryOp("HardSigmoid", "Y = max(0, min(1, alpha * X + beta)). ONNX HardSigmoid-6", infer,
                     gradient, reference);
  op.attributes = {{"alpha", "float", "0.2", "slope"}, {"beta", "float", "0.5", "value at 0"}};
  op.activation = true;
  return op;
}

}  // namespace msdbg::core
