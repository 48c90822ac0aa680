#include "core_engine/ops/extremes.h"

namespace msdbg::core {

Result<std::vector<TensorType>> inferExtreme(std::string_view op, std::span<const TensorType> inputs) {
  MSDBG_TRY(checkAnyInputs(op, inputs, "data"));
  Shape shape = inputs[0].shape;
  for (const TensorType& input : inputs.subspan(1)) {
    MSDBG_TRY(checkDType(op, "data", input, inputs[0].dtype));
    MSDBG_TRY(widenShape(op, "data", input, shape));
  }
  return std::vector<TensorType>{{inputs[0].dtype, shape}};
}

/// What is left of dY after the inputs before goes to the next input where that equals Y. A NaN equals
/// nothing: no input gets a gradient there.
Gradients extremeGradient(GradientBuilder& b) {
  const std::size_t count = b.forward().inputs.size();
  Gradients gradients(count);
  Value left = *b.outputGradient(0);
  const Value zero = b.constant(0, left.dtype());
  for (std::size_t i = 0; i < count; ++i) {
    const Value chosen = b.apply1("Equal", {b.input(i), b.output(0)});
    if (b.wanted(i)) {
      const Value share = b.apply1("Where", {chosen, left, zero});
      gradients[i] = b.reduceTo(share, b.input(i).shape());
    }
    if (i + 1 < count) left = b.apply1("Where", {chosen, zero, left});
  }
  return gradients;
}

OpDef extremeOp(std::string_view name, std::string_view doc, InferFn infer, ReferenceFn reference) {
  return {.name = name,
          .doc = doc,
          .maxInputs = kAnyNumber,
          .inputNames = {"data…"},
          .outputNames = {"Y"},
          .dataTypes = DataTypes::kAny,
          .infer = infer,
          .gradient = extremeGradient,
          .reference = reference};
}

}  // namespace msdbg::core
