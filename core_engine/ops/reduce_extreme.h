// What ReduceMax, ReduceMin and their gradients share: a NaN beats every number, of equals the first gets the
// gradient. Pure functions.
#pragma once

#include <limits>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/extremes.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {

Result<std::vector<TensorType>> inferReduceExtreme(std::string_view op, InputTypes inputs,
                                                   const Attributes& attributes);
Result<std::vector<TensorType>> inferReduceExtremeGrad(std::string_view op, InputTypes inputs,
                                                       const Attributes& attributes);
/// dY at the first element that equals Y (or the first NaN), 0 elsewhere.
Status referenceReduceExtremeGrad(const KernelArgs& args);
OpDef reduceExtremeOp(std::string_view name, std::string_view doc, InferFn infer, GradientFn gradient,
                      ReferenceFn reference);
OpDef reduceExtremeGradOp(std::string_view name, std::string_view doc, InferFn infer);

/// What the maximum of nothing is.
template <typename T>
T leastOf() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}
/// What the minimum of nothing is.
template <typename T>
T greatestOf() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

/// The element that no other beats; `start(T{})` where there is none.
template <typename Start, typename Better>
Status referenceReduceExtreme(const KernelArgs& args, const Start& start, const Better& better) {
  const ReductionPlan plan = planOf(args, args.inputs[0]->shape());
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = args.inputs[0]->data<T>().data();
    T* y = args.outputs[0]->data<T>().data();
    forResults(plan, args.state.threads, [&](std::int64_t result, const auto& each) {
      T best = start(zero);
      each([&](std::int64_t at) {
        if (!isNan(best) && (better(x[at], best) || isNan(x[at]))) best = x[at];
      });
      y[result] = best;
    });
  });
  return Ok{};
}

}  // namespace msdbg::core
