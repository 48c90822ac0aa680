// Or: where one holds or both, element by element, with NumPy broadcasting.
#include "core_engine/ops/logical.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferLogical("Or", inputs);
}

Status reference(const KernelArgs& args) {
  mapPairs<bool, bool>(args, [](bool a, bool b) { return a || b; });
  return Ok{};
}

}  // namespace

OpDef orOp() {
  return logicalOp("Or", "C is true where one holds or both, with NumPy broadcasting. ONNX Or-7", infer,
                   reference);
}

}  // namespace msdbg::core
