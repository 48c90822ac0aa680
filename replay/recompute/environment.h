// What decides bits besides the graph and what it is fed: libraries, instruction set, caches. Whether those
// of a recording are those of here. Of the process: main thread, before the engine is used.
#pragma once

#include <string>
#include <vector>

#include "core_engine/runtime/backend.h"
#include "replay/run_types.h"

namespace msdbg::replay {

/// Keeps this process to the instruction set that the run was recorded with, where there is more here. Does
/// nothing where the recording does not say, or there is less here: environmentDifferences() tells.
void matchInstructionSet(const RunDescription& recorded);

/// The one that recorded, where there is such a device here; else the CPU.
core::BackendKind backendFor(const RunDescription& recorded);

/// In words, one for each thing: "oneDNN 2.6.3 avx2 instead of 2.6.3 avx512_core". Empty: equal bits can be
/// expected of equal kernels. What the recording does not say is not compared.
std::vector<std::string> environmentDifferences(const RunDescription& recorded);

}  // namespace msdbg::replay
