// What the comparisons share: two tensors of one dtype, NumPy broadcasting, bools come out.
// Pure functions.
#pragma once

#include "core_engine/ops/broadcast.h"
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/infer.h"

namespace msdbg::core {

inline OpDef comparisonOp(std::string_view name, std::string_view doc, InferFn infer, ReferenceFn reference) {
  return {.name = name,
          .doc = doc,
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"A", "B"},
          .outputNames = {"C"},
          .dataTypes = DataTypes::kAny,
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
