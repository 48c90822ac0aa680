// Which scope of the forward pass a node is computed again with, as `--recompute GLOB` says. Pure functions;
// thread-safe.
#pragma once

#include <span>
#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// The outermost scope around the node that one of the globs matches (`network/block1` for `block*`); "" if
/// none does.
std::string recomputedScope(const Node& node, std::span<const std::string> globs);
/// kNotFound: a glob that matches no scope of the forward pass, with the nearest ones.
Status checkRecomputed(const Graph& graph, std::span<const std::string> globs);

}  // namespace msdbg::core
