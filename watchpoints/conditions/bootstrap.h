// Targets that are made of what the network, or a copy of it, gives: reward + discount * value of what comes
// next. Pure functions of the graph; thread-safe.
#pragma once

#include <optional>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct Bootstrap {
  core::TensorId target;
  /// Something that the program gave multiplies the value of what comes next, as 1 - done does.
  bool masked = false;
};

/// Of the first loss that compares a result with such a sum, through which no gradient goes; nullopt: none.
std::optional<Bootstrap> bootstrappedTarget(const core::Graph& graph);

}  // namespace msdbg::watch
