// Writes graphs/HASH.pb and sources/ of a run, and the journal line that names them. Every rank does this,
// once per graph version, on the training thread; what another rank has written is not written again. No
// state.
#pragma once

#include <filesystem>
#include <string_view>

#include "core_engine/graph/graph.h"
#include "dump/journal.h"

namespace msdbg::dump {

/// `bytes`: the graph, serialized. `version`: of this rank's graphs.
core::Result<GraphLine> writeGraph(const std::filesystem::path& run, core::Rank rank, std::int64_t version,
                                   const core::Graph& graph, std::string_view bytes);

}  // namespace msdbg::dump
