// What Max and Min share: any number of inputs of one dtype, NumPy broadcasting, NaN spreads; of equal inputs
// the first gets the gradient.
#pragma once

#include <cmath>
#include <type_traits>

#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

Result<std::vector<TensorType>> inferExtreme(std::string_view op, std::span<const TensorType> inputs);
Gradients extremeGradient(GradientBuilder& b);
OpDef extremeOp(std::string_view name, std::string_view doc, InferFn infer, ReferenceFn reference);

template <typename T>
bool isNan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}

/// y = the first of the inputs that no other beats; a NaN beats every number.
template <typename T, typename Better>
void pickExtreme(const KernelArgs& args, const Better& better) {
  const Shape& shape = args.outputs[0]->shape();
  std::vector<Broadcast<T>> inputs;
  for (const Tensor* input : args.inputs) inputs.emplace_back(*input, shape);
  T* y = args.outputs[0]->data<T>().data();
  forRows(shape, args.state.threads, [&](std::int64_t first, std::int64_t length) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const T* x = inputs[k].at(first);
      const std::int64_t step = inputs[k].step();
      for (std::int64_t i = 0; i < length; ++i) {
        T& best = y[first + i];
        const T candidate = x[i * step];
        if (k == 0 || (!isNan(best) && (better(candidate, best) || isNan(candidate)))) best = candidate;
      }
    }
  });
}

template <typename Better>
Status referenceExtreme(const KernelArgs& args, const Better& better) {
  visitComputed(args.outputs[0]->dtype(), [&](auto zero) { pickExtreme<decltype(zero)>(args, better); });
  return Ok{};
}

}  // namespace msdbg::core
