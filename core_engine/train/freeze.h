// Freezing: parameters that training leaves as they are. A frozen one has no update node and no optimizer
// state, and no gradient is computed for it (nor behind it, where nothing else trains). Call it while the
// model is built, after the parameter was made and before the Trainer. Running values of a batchNorm go on
// changing. They throw BuildError.
#pragma once

#include <string_view>

#include "core_engine/ops/functions.h"

namespace msdbg::core {

/// A parameter, as Graph::parameter gives it.
void freeze(Value parameter, Where where = Where::current());
/// Every parameter made so far whose full name fits the glob: freeze(g, "net/encoder/*"). An error where none
/// does.
void freeze(Graph& graph, std::string_view glob, Where where = Where::current());

}  // namespace msdbg::core
