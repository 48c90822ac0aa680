// Min: the smallest of several tensors, element by element.
#include "core_engine/ops/extremes.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferExtreme("Min", inputs);
}

Status reference(const KernelArgs& args) {
  return referenceExtreme(args, [](auto a, auto b) { return a < b; });
}

}  // namespace

OpDef minOp() {
  return extremeOp(
      "Min",
      "Y = the smallest of the inputs, any dtype, with NumPy broadcasting; NaN wins; the gradient "
      "goes to the first of equals. ONNX Min-13",
      infer, reference);
}

}  // namespace msdbg::core
