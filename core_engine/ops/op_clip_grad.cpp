// ClipGrad: dX = dY where min <= X <= max, else 0.
#include "core_engine/ops/clip.h"
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("ClipGrad", inputs, {"dY", "X"});
}

Status reference(const KernelArgs& args) {
  const ClipRange r = clipRange(args.node.attributes);
  return mapBinary(args, [r](double dy, double x) { return x < r.low || x > r.high ? 0.0 : dy; });
}

}  // namespace

OpDef clipGradOp() {
  OpDef op =
      unaryGradOp("ClipGrad", "dX = dY where min <= X <= max (or X is NaN), else 0. msdbg", infer, reference);
  op.attributes = clipAttributes();
  return op;
}

}  // namespace msdbg::core
