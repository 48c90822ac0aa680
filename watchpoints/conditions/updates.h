// What each trainable parameter is updated from. Pure functions of the graph; thread-safe.
#pragma once

#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

struct ParameterUpdate {
  core::TensorId parameter, next;          // its value now and at the next iteration
  core::NodeId node;                       // the update
  core::TensorId gradient, rate;           // that the update reads; invalid where it reads none
  std::vector<core::TensorId> nextStates;  // next values of the optimizer states, in the node's order
};

/// In execution order; parameters that nothing updates have none.
std::vector<ParameterUpdate> parameterUpdates(const core::Graph& graph);

}  // namespace msdbg::watch
