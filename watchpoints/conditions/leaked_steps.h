// Predictions of several steps, one network a step, of which each is given the target of its own step: the
// decoder of a sequence that was to be given the value before. From the graph alone. A part of target_leak.
#pragma once

#include <optional>

#include "watchpoints/condition.h"

namespace msdbg::watch {

/// Of a target whose slices, one a step, go into the predictions of these steps, and into none before: what a
/// network sees that goes through a sequence from its begin, and ends with the answer.
std::optional<Finding> leakedSteps(const EvaluationContext& context);

}  // namespace msdbg::watch
