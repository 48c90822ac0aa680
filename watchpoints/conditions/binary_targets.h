// The targets of binary cross-entropies, operators or made of Softplus. Pure functions of the graph;
// thread-safe.
#pragma once

#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct BinaryTarget {
  core::NodeId node;      // the loss, or the sum that is it for each sample
  core::TensorId target;  // before reshapes and casts
};
inline constexpr const char* kBinaryAdvice =
    "Give it 0 for no and 1 for yes: -1 and 1 become 0 and 1 by (y + 1) / 2, bytes by y / 255.";
std::vector<BinaryTarget> binaryTargets(const core::Graph& graph);

}  // namespace msdbg::watch
