// ReduceMax: the largest element over axes; a NaN beats every number.
#include "core_engine/ops/reduce_extreme.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReduceExtreme("ReduceMax", inputs, attributes);
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "ReduceMaxGrad", {b.input(0), b.output(0)}, b.forward().attributes);
}

Status reference(const KernelArgs& args) {
  return referenceReduceExtreme(
      args, [](auto zero) { return leastOf<decltype(zero)>(); }, [](auto a, auto b) { return a > b; });
}

}  // namespace

OpDef reduceMaxOp() {
  return reduceExtremeOp(
      "ReduceMax",
      "The largest element over axes (all by default), any dtype; a NaN is largest; the gradient goes "
      "to the first of equals. ONNX ReduceMax-20 (axes as an attribute)",
      infer, gradient, reference);
}

}  // namespace msdbg::core
