// Xor: where one holds and not the other, element by element, with NumPy broadcasting.
#include "core_engine/ops/logical.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferLogical("Xor", inputs);
}

Status reference(const KernelArgs& args) {
  mapPairs<bool, bool>(args, [](bool a, bool b) { return a != b; });
  return Ok{};
}

}  // namespace

OpDef xorOp() {
  return logicalOp("Xor", "C is true where one holds and not the other, with NumPy broadcasting. ONNX Xor-7",
                   infer, reference);
}

}  // namespace msdbg::core
