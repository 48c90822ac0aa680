#include "watchpoints/conditions/sampled.h"

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

constexpr auto kLayers = std::to_array<std::string_view>(
    {"Gemm", "MatMul", "Conv", "ConvTranspose", "aten.addmm", "aten.mm", "aten.bmm", "aten.convolution"});
constexpr auto kPasses =
    std::to_array<std::string_view>({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Concat", "Cast",
                                     "Identity", "StopGradient", "aten.cat", "Transpose"});

/// The first trained layer that reads a tensor, as it is or moved; nullptr: none.
const Node* layerThatReads(const Graph& graph, TensorId tensor, const std::vector<bool>& differentiated,
                           int depth = 0) {
  for (const core::NodeId user : graph.consumers(tensor)) {
    const Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward || node.outputs.empty()) continue;
    if (isOneOf(&node, kLayers) && differentiated[node.id.index()]) return &node;
    if (!isOneOf(&node, kPasses) || depth > 4) continue;
    if (const Node* layer = layerThatReads(graph, node.outputs.front(), differentiated, depth + 1))
      return layer;
  }
  return nullptr;
}

}  // namespace

std::optional<Sampled> sampledAway(const Graph& graph) {
  const std::vector<bool> differentiated = differentiatedNodes(graph), learnt = learntTensors(graph);
  for (const Node& node : graph.nodes()) {
    if (node.opType != "aten.normal" || node.phase != core::Phase::kForward || node.inputs.empty()) continue;
    if (differentiated[node.id.index()] || !learnt[node.inputs.front().index()]) continue;
    const Node* mean = makerOf(graph, node.inputs.front());
    const Node* layer = mean && differentiated[mean->id.index()]
                            ? layerThatReads(graph, node.outputs.front(), differentiated)
                            : nullptr;
    if (!layer) continue;
    return Sampled{node.id, "it is drawn without a gradient, and " + layer->name +
                                " learns of it: nothing of that reaches " + mean->name +
                                ", of which it is drawn"};
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
