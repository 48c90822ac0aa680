// HardSigmoidGrad: dX = alpha * dY where 0 < alpha * X + beta < 1, else 0.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("HardSigmoidGrad", inputs, {"dY", "X"});
}

Status reference(const KernelArgs& args) {
  const double alpha = floatAttribute(args.node.attributes, "alpha", 0.2);
  const double beta = floatAttribute(args.node.attributes, "beta", 0.5);
  return mapBinary(
      args, [=](double dy, double x) { return isInside(alpha * x + beta, 0.0, 1.0) ? alpha * dy : 0.0; });
}

}  // namespace

OpDef hardSigmoidGradOp() {
  OpDef op = unaryGradOp("HardSigmoidGrad", "dX = alpha * dY where 0 < alpha * X + beta < 1, else 0. msdbg",
                         infer, reference);
  op.attributes = {{"alpha", "float", "0.2", "slope"}, {"beta", "float", "0.5", "value at 0"}};
  return op;
}

}  // namespace msdbg::core
