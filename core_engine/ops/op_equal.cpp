// Equal: where A == B, element by element, with NumPy broadcasting.
#include "core_engine/ops/compare.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferNumbers("Equal", inputs, DType::Bool);
}

Status reference(const KernelArgs& args) {
  return compareBroadcast(args, [](auto a, auto b) { return a == b; });
}

}  // namespace

OpDef equalOp() {
  return comparisonOp("Equal",
                      "C = (A == B) as bool, any dtype, with NumPy broadcasting; also of bools; NaN equals "
                      "nothing. ONNX Equal-19",
                      infer, reference);
}

}  // namespace msdbg::core
