#include "watchpoints/conditions/updates.h"

#include "watchpoints/conditions/targets.h"

namespace msdbg::watch {

using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

namespace {

ParameterUpdate updateAt(const core::Graph& graph, const TensorInfo& next) {
  const core::Node& node = graph.node(next.producer);
  ParameterUpdate update{next.updateOf, next.id, node.id, {}, {}, {}};
  for (const TensorId input : node.inputs) {
    const TensorInfo& info = graph.tensor(input);
    const bool gradient = info.role == TensorRole::kGradient || isAccumulatedGradient(graph, info);
    if (gradient && !update.gradient.valid()) update.gradient = input;
    if (info.role == TensorRole::kHyperparameter && !update.rate.valid()) update.rate = input;
  }
  for (const TensorId output : node.outputs)
    if (output != next.id && isFloating(graph.tensor(output).dtype)) update.nextStates.push_back(output);
  return update;
}

}  // namespace

std::vector<ParameterUpdate> parameterUpdates(const core::Graph& graph) {
  std::vector<ParameterUpdate> updates;
  for (const TensorId next :
       selectTensors(graph, [&](const TensorInfo& info) { return isWeightUpdate(graph, info); }))
    updates.push_back(updateAt(graph, graph.tensor(next)));
  return updates;
}

}  // namespace msdbg::watch
