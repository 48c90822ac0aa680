// And: where both hold, element by element, with NumPy broadcasting.
#include "core_engine/ops/logical.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferLogical("And", inputs);
}

Status reference(const KernelArgs& args) {
  mapPairs<bool, bool>(args, [](bool a, bool b) { return a && b; });
  return Ok{};
}

}  // namespace

OpDef andOp() {
  return logicalOp("And", "C is true where both hold, with NumPy broadcasting. ONNX And-7", infer, reference);
}

}  // namespace msdbg::core
