// HardSwishGrad: dX = 0 up to -3, dY from 3 on, dY * (X / 3 + 1/2) between.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("HardSwishGrad", inputs, {"dY", "X"});
}

Status reference(const KernelArgs& args) {
  return mapBinary(args, [=](double dy, double x) {
    return x <= -3 ? 0.0 : x >= 3 ? dy : dy * (x / 3 + 0.5);
  });
}

}  // namespace

OpDef hardSwishGradOp() {
  return unaryGradOp("HardSwishGrad", "dX = 0 where X <= -3, dY where X >= 3, else dY * (X / 3 + 1/2). msdbg",
                     infer, reference);
}

}  // namespace msdbg::core
