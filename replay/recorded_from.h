// Where a run comes from when another framework trained it, and the number that its user gives an iteration.
// Pure functions of a run; used from its thread.
#pragma once

#include <string>

#include "replay/run.h"

namespace msdbg::replay {

/// "PyTorch 2.15.0+cpu (level ops), Python 3.11.7"; "" for runs of our own engine.
std::string recordedFrom(const RunDescription& run);

/// The command that records the iterations around this one operator by operator, when the program is run
/// again;
/// "" where that is how it was recorded, or where nobody knows the program.
std::string deeperCommand(const RunDescription& run, core::Iteration iteration);

/// The user's own step number, where the program told it (scalar `step`). Iterations are counted from 0 in
/// every recording; a training that goes on from a checkpoint has steps of its own.
std::optional<std::int64_t> userStep(watch::Source& run, core::Rank rank, core::Iteration iteration);

/// "7", or "7 (step 5007)".
std::string iterationText(watch::Source& run, core::Rank rank, core::Iteration iteration);

}  // namespace msdbg::replay
