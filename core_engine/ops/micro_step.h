// Gradient accumulation in the operators of the update phase: an update with attribute `every` above 1 has
// micro_step, the iterations since the last update, as its last input, and changes something only where that
// is every - 1. Elsewhere its outputs are the values that it would replace. Pure functions.
#pragma once

#include <algorithm>

#include "core_engine/ops/infer.h"

namespace msdbg::core {

inline Status checkMicroStepType(std::string_view op, const TensorType& microStep) {
  MSDBG_TRY(checkDType(op, "micro_step", microStep, DType::Int64));
  return checkShape(op, "micro_step", microStep, Shape{});
}

/// The inputs but micro_step, which is there exactly when `every` is above 1.
inline Result<InputTypes> withoutMicroStep(std::string_view op, InputTypes inputs,
                                           const Attributes& attributes) {
  const std::int64_t every = intAttribute(attributes, "every", 1);
  if (every == 1) return inputs;
  if (every < 1 || inputs.size() < 2)
    return inferError(op, "attribute every is " + std::to_string(every) +
                              ", but 1 was expected, or more and micro_step as the last input");
  MSDBG_TRY(checkMicroStepType(op, inputs.back()));
  return inputs.first(inputs.size() - 1);
}

/// Whether this run of an update leaves everything as it is.
inline bool isBetweenUpdates(const KernelArgs& args) {
  const std::int64_t every = intAttribute(args.node.attributes, "every", 1);
  return every > 1 && args.inputs.back()->data<std::int64_t>()[0] != every - 1;
}

/// What an update writes then. In place there is nothing to do.
inline void copyValue(const Tensor& from, Tensor& to) {
  if (from.raw() != to.raw()) std::ranges::copy(from.byteSpan(), to.byteSpan().begin());
}

inline AttributeDoc everyAttribute() {
  return {"every", "int", "1",
          "above 1: only where the last input, micro_step, is every - 1; else all stays"};
}
inline AttributeDoc lrFactorAttribute() {
  return {"lr_factor", "float", "1", "of the learning rate, for this parameter"};
}

}  // namespace msdbg::core
