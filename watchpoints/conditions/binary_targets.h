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
std::vector<BinaryTarget> binaryTargets(const core::Graph& graph);

}  // namespace msdbg::watch
