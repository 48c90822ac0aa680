// Source line -> nodes, and names or types -> nodes.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::replay {

struct SearchResult {
  std::vector<core::NodeId> nodes;  // in order: forward nodes of the line, then those derived from them
  std::string file;                 // the source file a line query meant; "" otherwise
  std::vector<std::int32_t> nearestLines;  // when the line has no nodes: nearest lines that have some
};

/// `FILE:LINE`, `FILE:A-B`, or TEXT (name, unique suffix, glob, operator type, class of a module, part of a
/// name, part of the code of a line; the first of these that finds something). FILE is a
/// path suffix (at a '/' border) of the graph's own files. kNotFound: unknown file (nearest) or nothing
/// found; kUsage: ambiguous file name (candidates), bad range. Any frame of a node on the line matches (the
/// scope's line finds the layers inside).
core::Result<SearchResult> search(const core::Graph& graph, const std::string& query);

}  // namespace msdbg::replay
