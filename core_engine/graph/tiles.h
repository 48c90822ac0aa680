// Kernels that work in parts of their outputs ("tiles"), so that several nodes can go through memory
// together, a part at a time while it is in the cache: what a kernel needs for that, and which nodes do so.
// Values; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// How a node's kernel works in parts of its first output.
struct TilePorts {
  std::int64_t row = 1;          // parts are whole rows of so many elements
  std::vector<bool> along = {};  // by input: for a part it reads the same part only
  bool inPlace = false;          // a next value may lie where the current one does
};

/// A node of a group. The parts of its inputs come from other members, where linked.
struct GroupMember {
  static constexpr std::int64_t kFromMemory = -1;

  NodeId node;
  std::vector<std::int64_t> links = {};  // by input: the member whose first output it is, or kFromMemory
  bool inside = false;                   // its first output is read by members only
};

}  // namespace msdbg::core
