// What a precision bisect takes, known from shapes before anything is read. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::replay {

/// The largest sum of what lives at one node, in bytes: of each tensor up to its last reader its recorded
/// value and its float64 one; of the node itself float64 copies of all that it reads and makes, thrice.
/// Capped; of unknown shapes nothing.
std::uint64_t bisectBytes(const core::Graph& graph);

/// Of its value as recorded; capped, of an unknown shape nothing.
double bytesOf(const core::TensorInfo& info);

/// The node that reads each tensor last, by tensor; of one that nobody reads its producer, invalid for
/// sources.
std::vector<core::NodeId> lastReaders(const core::Graph& graph);

}  // namespace msdbg::replay
