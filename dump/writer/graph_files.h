// Writes graph_NNNN.pb and sources/ of a run, and the journal line that lists them. Rank 0 does this, once
// per graph version, on the training thread. No state.
#pragma once

#include <filesystem>

#include "core_engine/graph/graph.h"
#include "dump/journal.h"

namespace msdbg::dump {

core::Result<GraphLine> writeGraph(const std::filesystem::path& run, const core::Graph& graph);

}  // namespace msdbg::dump
