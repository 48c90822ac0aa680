#include "watchpoints/conditions/binary_targets.h"

#include <span>

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

const Node* madeBy(const Graph& graph, TensorId tensor, std::string_view opType) {
  const Node* node = producerOf(graph, tensor);
  return node && node->opType == opType ? node : nullptr;
}

/// (1 - target) * x + softplus(-x): the binary cross-entropy of logits x.
void addByHand(const Graph& graph, const Node& softplus, std::vector<BinaryTarget>& targets) {
  for (const core::NodeId user : graph.consumers(softplus.outputs.front())) {
    const Node& sum = graph.node(user);
    if (sum.phase != core::Phase::kForward || sum.opType != "Add") continue;
    for (const TensorId part : sum.inputs) {
      const Node* product = madeBy(graph, part, "Mul");
      for (const TensorId factor :
           product ? std::span<const TensorId>(product->inputs) : std::span<const TensorId>())
        if (const Node* rest = madeBy(graph, factor, "Sub"))
          if (const TensorId target = originOf(graph, rest->inputs[1]); isData(graph, target))
            targets.push_back({sum.id, target});
    }
  }
}

}  // namespace

std::vector<BinaryTarget> binaryTargets(const Graph& graph) {
  static constexpr auto kBinary =
      std::to_array<std::string_view>({"aten.binary_cross_entropy", "aten.binary_cross_entropy_with_logits"});
  std::vector<BinaryTarget> targets;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    if (node.opType == "Softplus") addByHand(graph, node, targets);
    if (isOneOf(&node, kBinary) && node.inputs.size() > 1)
      targets.push_back({node.id, originOf(graph, node.inputs[1])});
  }
  return targets;
}

}  // namespace msdbg::watch
