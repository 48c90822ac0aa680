#include "core_engine/plan/node_facts.h"

#include <algorithm>

#include "core_engine/ops/op.h"

namespace msdbg::core {

bool writesNextValue(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.outputs, [&](TensorId id) { return graph.tensor(id).updateOf.valid(); });
}

bool isFunctionOfInputs(const Graph& graph, const Node& node) {
  return findOp(node) && node.opType != "Dropout" && node.phase != Phase::kCollective &&
         !writesNextValue(graph, node);
}

bool isAlwaysFunctionOfInputs(const Graph& graph, const Node& node) {
  return isFunctionOfInputs(graph, node) && node.opType != "BatchNormalization";
}

std::string nodesText(std::size_t count) { return std::to_string(count) + (count == 1 ? " node" : " nodes"); }

bool isPinned(const PlanOptions& options, NodeId node) {
  return std::ranges::count(options.pinned, node) > 0;
}

}  // namespace msdbg::core
