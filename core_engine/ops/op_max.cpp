// Max: the largest of several tensors, element by element.
#include "core_engine/ops/extremes.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferExtreme("Max", inputs);
}

Status reference(const KernelArgs& args) {
  return referenceExtreme(args, [](auto a, auto b) { return a > b; });
}

}  // namespace

OpDef maxOp() {
  return extremeOp(
      "Max",
      "Y = the largest of the inputs, any dtype, with NumPy broadcasting; NaN wins; the gradient "
      "goes to the first of equals. ONNX Max-13",
      infer, reference);
}

}  // namespace msdbg::core
