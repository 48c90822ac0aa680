// ReduceMinGrad: dY at the first element that ReduceMin found smallest, 0 elsewhere.
#include "core_engine/ops/reduce_extreme.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReduceExtremeGrad("ReduceMinGrad", inputs, attributes);
}

}  // namespace

OpDef reduceMinGradOp() {
  return reduceExtremeGradOp(
      "ReduceMinGrad", "dX = dY at the first element that equals Y (or the first NaN), 0 elsewhere. msdbg",
      infer);
}

}  // namespace msdbg::core
