// Copies of one model that begin with other weights on each rank, where nobody says that they are copies (a
// program that averages gradients by hand). Used from one thread.
#pragma once

#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {

/// Ranks that update a parameter with the same gradient, bit for bit, train copies of it. Asked of one
/// iteration: nullopt where none of them differs.
std::optional<Finding> unequalStart(EvaluationContext& context);

}  // namespace msdbg::watch
