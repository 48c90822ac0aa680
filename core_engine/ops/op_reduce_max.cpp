// ReduceMax: the largest element over axes; a NaN is larger than every number.
#include <limits>
#include <type_traits>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/extremes.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkInputs("ReduceMax", inputs, {"data"}));
  MSDBG_ASSIGN(const std::vector<bool> reduced, reducedAxes("ReduceMax", attributes, inputs[0].shape.rank()));
  return std::vector<TensorType>{{inputs[0].dtype, reducedShape(inputs[0].shape, reduced, attributes)}};
}

Gradients gradient(GradientBuilder& b) {
  return unaryGradient(b, "ReduceMaxGrad", {b.input(0), b.output(0)}, b.forward().attributes);
}

/// What the maximum of nothing is.
template <typename T>
T least() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}

Status reference(const KernelArgs& args) {
  const ReductionPlan plan = planOf(args, args.inputs[0]->shape());
  visitDType(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = args.inputs[0]->data<T>().data();
    T* y = args.outputs[0]->data<T>().data();
    forResults(plan, args.state.threads, [&](std::int64_t result, const auto& each) {
      T best = least<T>();
      each([&](std::int64_t at) {
        if (!isNan(best) && (x[at] > best || isNan(x[at]))) best = x[at];
      });
      y[result] = best;
    });
  });
  return Ok{};
}

}  // namespace

OpDef reduceMaxOp() {
  return {
      .name = "ReduceMax",
      .doc =
          "The largest element over axes (all by default), any dtype; a NaN is largest; the gradient goes "
          "to the first of equals. ONNX ReduceMax-20 (axes as an attribute)",
      .inputNames = {"data"},
      .outputNames = {"reduced"},
      .dataTypes = DataTypes::kAny,
      .attributes = reductionAttributes(false),
      .infer = infer,
      .gradient = gradient,
      .reference = reference};
}

}  // namespace msdbg::core
