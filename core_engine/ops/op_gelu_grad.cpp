// GeluGrad: dX = dY * gelu'(X).
#include "core_engine/ops/gelu.h"
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkGelu("GeluGrad", attributes));
  return inferSameShape("GeluGrad", inputs, {"dY", "X"});
}

Status reference(const KernelArgs& args) {
  const bool byTanh = geluByTanh(args.node.attributes);
  return mapBinary(
      args, [byTanh](double dy, double x) { return dy * (byTanh ? geluTanhSlope(x) : geluErfSlope(x)); });
}

}  // namespace

OpDef geluGradOp() {
  OpDef op = unaryGradOp("GeluGrad", "dX = dY times the derivative of Gelu at X. msdbg", infer, reference);
  op.attributes = {{"approximate", "string", "none", "none (by erf) or tanh"}};
  return op;
}

}  // namespace msdbg::core
