// When the gradients of normalisations leave a call to the reference. Pure functions.
#pragma once

#include <algorithm>
#include <cmath>

#include "core_engine/ops/op.h"

namespace msdbg::core::cpu {

/// The fast kernels take 1 / deviation (input 4 of both gradients) out of their sums. With an infinite one,
/// infinities of both signs meet in the sums, and only the reference's order says where that gives NaN.
inline bool hasFiniteDeviations(const KernelArgs& args) {
  return std::ranges::all_of(args.inputs[4]->data<float>(), [](float d) { return std::isfinite(d); });
}

}  // namespace msdbg::core::cpu
