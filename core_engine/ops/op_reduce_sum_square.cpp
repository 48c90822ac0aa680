// ReduceSumSquare: the sum of squares over axes, in double and in row-major order (gradient norms).
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  return inferReduction("ReduceSumSquare", inputs, attributes);
}

/// 2 * X * dY, dY spread over the reduced dimensions.
Gradients gradient(GradientBuilder& b) {
  Gradients gradients(1);
  if (!b.wanted(0)) return gradients;
  const Value spread = b.apply1("ReduceSumGrad", {*b.outputGradient(0)},
                                with(b.forward().attributes, "shape", b.input(0).shape()));
  const Value product = b.apply1("Mul", {spread, b.input(0)});
  gradients[0] = b.apply1("Mul", {product, b.constant(2, product.dtype())});
  return gradients;
}

Status reference(const KernelArgs& args) {
  const ReductionPlan plan = planOf(args, args.inputs[0]->shape());
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = args.inputs[0]->data<T>().data();
    T* y = args.outputs[0]->data<T>().data();
    forResults(plan, args.state.threads, [&](std::int64_t result, const auto& each) {
      double sum = 0;
      each([&](std::int64_t at) { sum += static_cast<double>(x[at]) * static_cast<double>(x[at]); });
      y[result] = static_cast<T>(sum);
    });
  });
  return Ok{};
}

}  // namespace

OpDef reduceSumSquareOp() {
  return {
      .name = "ReduceSumSquare",
      .doc = "Y = sum of X * X over axes (all by default). ONNX ReduceSumSquare-18 (axes as an attribute)",
      .inputNames = {"X"},
      .outputNames = {"Y"},
      .attributes = reductionAttributes(false),
      .infer = infer,
      .gradient = gradient,
      .reference = reference};
}

}  // namespace msdbg::core
