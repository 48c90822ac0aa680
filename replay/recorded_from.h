// Where a run comes from when another framework trained it. Pure functions of what it says of itself.
#pragma once

#include <string>

#include "replay/run.h"
#include "watchpoints/check.h"

namespace msdbg::replay {

/// "PyTorch 2.15.0+cpu (level ops), Python 3.11.7"; "" for runs of our own engine.
std::string recordedFrom(const RunDescription& run);

/// How many regions of the forward pass torch.compile made one kernel of, each of which is one node.
std::int64_t compiledRegions(const core::Graph& graph);

/// The command that records the iterations around a hit operator by operator, when the program is run again;
/// "" where that is how it was recorded, where the hit names what made it wrong already, where nobody knows
/// the program, or where no operator is to be found (the program failed between two iterations).
std::string deeperCommand(const RunDescription& run, const core::Graph& graph, const watch::Hit& hit);

/// Of a run in which nothing is wrong: the command that records its first iterations operator by operator,
/// which answers what only operators tell; "" where that is how it was recorded, or where nobody knows the
/// program.
std::string deeperLook(const RunDescription& run);
/// "train" or "modules", of a run of PyTorch; else "".
std::string levelWithoutOperators(const RunDescription& run);

}  // namespace msdbg::replay
