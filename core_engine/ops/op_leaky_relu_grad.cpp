// LeakyReluGrad: dX = dY where X >= 0, else alpha * dY.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("LeakyReluGrad", inputs, {"dY", "X"});
}

Status reference(const KernelArgs& args) {
  const double alpha = floatAttribute(args.node.attributes, "alpha", 0.01);
  return mapBinary(args, [=](double dy, double x) { return x < 0 ? alpha * dy : dy; });
}

}  // namespace

OpDef leakyReluGradOp() {
  OpDef op = unaryGradOp("LeakyReluGrad", "dX = dY where X >= 0, else alpha * dY. msdbg", infer, reference);
  op.attributes = {{"alpha", "float", "0.01", "slope below 0"}};
  return op;
}

}  // namespace msdbg::core
