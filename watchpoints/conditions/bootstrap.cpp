#include "watchpoints/conditions/bootstrap.h"

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

bool hasParameter(const Graph& graph, TensorId tensor) {
  const std::vector<bool> parts = partsOf(graph, tensor);
  return std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& info) {
    return parts[info.id.index()] && info.isSource() && info.role == core::TensorRole::kParameter;
  });
}

/// A batch of numbers that the program gave, or computed of such.
bool isGiven(const Graph& graph, TensorId tensor) {
  const core::Shape& shape = graph.tensor(tensor).shape;
  return shape.known() && shape.rank() > 0 && !hasParameter(graph, tensor);
}

/// Whether the value is multiplied by something that the program gave, past factors that are numbers.
bool isMasked(const Graph& graph, TensorId value) {
  constexpr int kMost = 8;
  const Node* node = producerOf(graph, originOf(graph, value));
  for (int i = 0; i < kMost && isProduct(node); ++i) {
    TensorId next = node->inputs.front();
    if (node->inputs.size() == 2) {
      for (const std::size_t operand : {0, 1})
        if (isGiven(graph, node->inputs[operand])) return true;
      if (!hasParameter(graph, next)) next = node->inputs[1];
    }
    node = producerOf(graph, originOf(graph, next));
  }
  return isOneOf(node, std::to_array<std::string_view>({"Where", "aten.where", "aten.masked_fill"}));
}

std::optional<Bootstrap> bootstrapOf(const Graph& graph, TensorId target) {
  const std::vector<Summand> terms = summandsOf(graph, target);
  if (terms.size() != 2) return std::nullopt;
  for (const std::size_t i : {0, 1})
    if (isGiven(graph, terms[i].tensor) && hasParameter(graph, terms[1 - i].tensor))
      return Bootstrap{target, isMasked(graph, terms[1 - i].tensor)};
  return std::nullopt;
}

}  // namespace

std::optional<Bootstrap> bootstrappedTarget(const Graph& graph) {
  constexpr int kMost = 64;  // each costs a walk through the graph
  int tried = 0;
  const std::vector<bool> differentiated = differentiatedTensors(graph);
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || !isComparison(node)) continue;
    for (const std::size_t i : {0, 1}) {
      const TensorId target = originOf(graph, node.inputs[i]);
      if (differentiated[target.index()] || !differentiated[node.inputs[1 - i].index()]) continue;
      if (const auto bootstrap = bootstrapOf(graph, target)) return bootstrap;
      if (++tried == kMost) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
