// ReduceMin: the smallest element over axes; a NaN beats every number.
#include "core_engine/ops/reduce_extreme.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReduceExtreme("ReduceMin", inputs, attributes);
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "ReduceMinGrad", {b.input(0), b.output(0)}, b.forward().attributes);
}

Status reference(const KernelArgs& args) {
  return referenceReduceExtreme(
      args, [](auto zero) { return greatestOf<decltype(zero)>(); }, [](auto a, auto b) { return a < b; });
}

}  // namespace

OpDef reduceMinOp() {
  return reduceExtremeOp(
      "ReduceMin",
      "The smallest element over axes (all by default), any dtype; a NaN is smallest; the gradient goes "
      "to the first of equals. ONNX ReduceMin-20 (axes as an attribute)",
      infer, gradient, reference);
}

}  // namespace msdbg::core
