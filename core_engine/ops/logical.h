// What And, Or and Xor share: two bools, NumPy broadcasting. Pure functions.
#pragma once

#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

inline Result<std::vector<TensorType>> inferLogical(std::string_view op, InputTypes inputs) {
  MSDBG_TRY(checkInputs(op, inputs, {"A", "B"}));
  MSDBG_TRY(checkDType(op, "A", inputs[0], DType::Bool));
  return inferNumbers(op, inputs);
}

inline OpDef logicalOp(std::string_view name, std::string_view doc, InferFn infer, ReferenceFn reference) {
  return {.name = name,
          .doc = doc,
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"A", "B"},
          .outputNames = {"C"},
          .dataTypes = DataTypes::kBool,
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
