// What the operators Y = f(X) on floating-point numbers share: infer and the row of the table. Pure
// functions.
#pragma once

#include <cmath>

#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/elementwise.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/infer.h"
#include "core_engine/ops/limits.h"

namespace msdbg::core {

/// The row of a function of one tensor X; the caller adds attributes, and whether it is an activation.
inline OpDef unaryOp(std::string_view name, std::string_view doc, InferFn infer, GradientFn gradient,
                     ReferenceFn reference) {
  return {.name = name,
          .doc = doc,
          .inputNames = {"X"},
          .outputNames = {"Y"},
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

/// The row of dX = g(dY, X).
inline OpDef unaryGradOp(std::string_view name, std::string_view doc, InferFn infer, ReferenceFn reference) {
  return {.name = name,
          .doc = doc,
          .minInputs = 2,
          .maxInputs = 2,
          .inputNames = {"dY", "X"},
          .outputNames = {"dX"},
          .infer = infer,
          .reference = reference};
}

/// The gradient rule of such a pair: <Op>Grad(dY, X) with the attributes of the forward node.
inline Gradients gradientFromInput(GradientBuilder& b, std::string_view opType) {
  return unaryGradient(b, opType, {b.input(0)}, b.forward().attributes);
}

}  // namespace msdbg::core
