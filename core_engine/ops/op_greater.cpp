// Greater: where A > B, element by element, with NumPy broadcasting.
#include "core_engine/ops/compare.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferNumbers("Greater", inputs, DType::Bool);
}

Status reference(const KernelArgs& args) {
  return compareBroadcast(args, [](auto a, auto b) { return a > b; });
}

}  // namespace

OpDef greaterOp() {
  return comparisonOp(
      "Greater",
      "C = (A > B) as bool, any dtype, with NumPy broadcasting; false where either is NaN. ONNX Greater-13",
      infer, reference);
}

}  // namespace msdbg::core
