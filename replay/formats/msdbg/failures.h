// How a recorded run failed, of what its run.json and journals say. Internal to replay.
#pragma once

#include <vector>

#include "dump/reader/run_reader.h"
#include "watchpoints/source.h"

namespace msdbg::replay {

/// One of each rank that did not come to a good end by itself. A rank that only lost another one, or was
/// ended because another failed, is not among them.
std::vector<watch::Source::RunFailure> failuresOf(const dump::RunReader& run);

}  // namespace msdbg::replay
