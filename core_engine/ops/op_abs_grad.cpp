// AbsGrad: dX = dY with the sign of X, 0 where X is 0.
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("AbsGrad", inputs, {"dY", "X"});
}

/// As PyTorch's: the sign of a NaN is a NaN.
Status reference(const KernelArgs& args) {
  return mapBinary(args, [](double dy, double x) {
    if (std::isnan(x)) return x;
    return x > 0 ? dy : x < 0 ? -dy : 0.0;
  });
}

}  // namespace

OpDef absGradOp() {
  return unaryGradOp("AbsGrad", "dX = dY where X > 0, -dY where X < 0, 0 where X is 0, NaN where X is. msdbg",
                     infer, reference);
}

}  // namespace msdbg::core
