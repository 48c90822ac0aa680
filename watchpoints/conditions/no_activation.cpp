// Two linear layers with nothing between them can do no more than one.
#include <algorithm>
#include <array>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// x * weight, a parameter of two dimensions.
bool isLinear(const Graph& graph, const Node& node) {
  if (node.phase != core::Phase::kForward || (node.opType != "Gemm" && node.opType != "MatMul")) return false;
  const core::TensorInfo& weight = graph.tensor(node.inputs[1]);
  return isWeight(weight) && weight.shape.rank() == 2 && weight.shape.known();
}

std::int64_t widthOfInput(const Graph& graph, const Node& layer) {
  const bool transposed = core::intAttribute(layer.attributes, "transB", 0) != 0;
  return graph.tensor(layer.inputs[1]).shape[transposed ? 1 : 0];
}
std::int64_t widthOfOutput(const Graph& graph, const Node& layer) {
  const bool transposed = core::intAttribute(layer.attributes, "transB", 0) != 0;
  return graph.tensor(layer.inputs[1]).shape[transposed ? 0 : 1];
}

/// Whether the operator adds a bias, drops elements or changes the shape: it stays linear.
bool staysLinear(const Graph& graph, const Node& node) {
  static constexpr std::array<std::string_view, 6> kTypes = {"Reshape",   "Flatten",  "Squeeze",
                                                             "Unsqueeze", "Identity", "Dropout"};
  if (node.opType == "Add") return graph.tensor(node.inputs[1]).role == core::TensorRole::kParameter;
  return std::ranges::find(kTypes, node.opType) != kTypes.end();
}

std::size_t forwardConsumers(const Graph& graph, TensorId tensor) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.consumers(tensor), [&](core::NodeId user) {
    return graph.node(user).phase == core::Phase::kForward;
  }));
}

/// The layer whose result the layer reads as it is, and nobody else does; nullptr: there is none.
const Node* layerBefore(const Graph& graph, const Node& layer) {
  for (TensorId tensor = layer.inputs.front();;) {
    const core::NodeId producer = graph.tensor(tensor).producer;
    if (!producer.valid() || forwardConsumers(graph, tensor) != 1) return nullptr;
    const Node& node = graph.node(producer);
    if (isLinear(graph, node)) return &node;
    if (!staysLinear(graph, node)) return nullptr;
    tensor = node.inputs.front();
  }
}

void question(EvaluationContext& context) {
  const Graph& graph = context.graph();
  for (const Node& layer : graph.nodes()) {
    if (!isLinear(graph, layer)) continue;
    const Node* before = layerBefore(graph, layer);
    if (!before) continue;
    const std::int64_t between = widthOfInput(graph, layer);
    // Narrower than both ends it is a product of low rank, and meant.
    if (between < std::min(widthOfInput(graph, *before), widthOfOutput(graph, layer))) continue;
    context.findings.push_back(
        findingAtNode(context, layer.id,
                      "it reads " + before->name +
                          " with no activation function between them: both together are one linear layer"));
  }
}

}  // namespace

ConditionDef noActivationCondition() {
  ConditionDef def;
  def.id = "no_activation";
  def.title = "No activation between layers";
  def.doc =
      "From the graph: a Gemm or MatMul by a weight reads the result of another one, which nobody else "
      "reads, "
      "through nothing but biases, Dropout and other shapes. Products of low rank (narrower between than at "
      "both ends) are left out.";
  def.advice = "Put relu(), tanh() or another activation function between the two, or leave one of them out.";
  def.severity = Severity::kHint;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
