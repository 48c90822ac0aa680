// EluGrad: dX = dY where X >= 0, else dY * alpha * e^X.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("EluGrad", inputs, {"dY", "X"});
}

Status reference(const KernelArgs& args) {
  const double alpha = floatAttribute(args.node.attributes, "alpha", 1);
  return mapBinary(args, [=](double dy, double x) { return x < 0 ? dy * alpha * std::exp(x) : dy; });
}

}  // namespace

OpDef eluGradOp() {
  OpDef op = unaryGradOp("EluGrad", "dX = dY where X >= 0, else dY * alpha * e^X. msdbg", infer, reference);
  op.attributes = {{"alpha", "float", "1", "minus the limit at -infinity"}};
  return op;
}

}  // namespace msdbg::core
