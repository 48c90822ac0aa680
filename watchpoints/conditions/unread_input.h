// Inputs that the batch brings and that nothing is learnt of. A part of batch_content. Used from one thread.
#pragma once

#include "watchpoints/condition.h"

namespace msdbg::watch {

/// Adds a hint for each input that no operator reads, or of which all that is computed is read by nothing in
/// the end. What compares it with predictions is a measure of the program's. Recorders of other frameworks
/// show inputs that operators read, under other names in other versions of the graph: nothing is said of
/// those.
void addUnreadInputs(EvaluationContext& context, core::Iteration begin);

}  // namespace msdbg::watch
