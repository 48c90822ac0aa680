// How far a recorded tensor is from a float64 one, and what rounding did to it. Pure functions; thread-safe.
#pragma once

#include "core_engine/tensor/tensor.h"
#include "replay/precision/precision.h"

namespace msdbg::replay {

/// All of one shape; `exact` and `terms` (termSums()) are float64. Kinds but for absorption.
LocalError localError(const core::Tensor& recorded, const core::Tensor& exact, const core::Tensor& terms);

/// Whether most elements that float64 changes are `before` still: a + b == a with b != 0. All of one shape.
bool isAbsorbed(const core::Tensor& before, const core::Tensor& recorded, const core::Tensor& exact);

/// Without amplification.
AccumulatedError accumulatedError(const core::Tensor& recorded, const core::Tensor& throughout);

}  // namespace msdbg::replay
