// A softmax along another axis than the one its weights are used on, as the graph shows it: over the batch,
// or over the queries of an attention whose product sums over the keys.
#include <algorithm>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;

bool isBatch(const Graph& graph, std::int64_t size) {
  return std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& info) {
    return (info.role == core::TensorRole::kInput || info.role == core::TensorRole::kLabel) &&
           info.shape.rank() > 0 && info.shape[0] == size;
  });
}

/// Counted from the front.
std::size_t axisOf(const Graph& graph, const Node& node) {
  const auto rank = static_cast<std::int64_t>(graph.tensor(node.outputs.front()).shape.rank());
  const std::int64_t axis = core::intAttribute(node.attributes, "axis", -1);
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// [batch, classes] normalised along the batch.
void checkBatch(EvaluationContext& context, const Node& node) {
  const core::Shape& shape = context.graph().tensor(node.outputs.front()).shape;
  if (shape.rank() != 2 || shape[0] == shape[1] || shape[1] == 1 || !isBatch(context.graph(), shape[0]))
    return;
  if (axisOf(context.graph(), node) != 0) return;
  context.findings.push_back(findingAtNode(
      context, node.id,
      node.opType + " along axis 0 runs over the batch: what each sample gets depends on the others"));
}

/// [batch, 1]: a single output was meant for a sigmoid.
void checkSingle(EvaluationContext& context, const Node& node) {
  const core::Shape& shape = context.graph().tensor(node.outputs.front()).shape;
  if (shape.rank() != 2 || shape[1] != 1 || shape[0] == 1 || axisOf(context.graph(), node) != 1) return;
  context.findings.push_back(findingAtNode(
      context, node.id,
      node.opType + " of " + shape.text() + " runs over one element, and is always " +
          (node.opType == "Softmax" ? "1" : "0") +
          " whatever is learnt: a single output goes through a sigmoid, a softmax needs one for each class"));
}

/// weights [.., queries, keys] in weights x values, which sums over the keys: each row of weights has to sum
/// to 1.
void checkWeights(EvaluationContext& context, const Node& softmax) {
  const Graph& graph = context.graph();
  const core::TensorId weights = softmax.outputs.front();
  const std::size_t rank = graph.tensor(weights).shape.rank(), axis = axisOf(graph, softmax);
  if (rank < 3) return;  // [batch, experts] and their like are no attention
  for (const core::NodeId user : graph.consumers(weights)) {
    const Node& product = graph.node(user);
    if (product.phase != core::Phase::kForward || product.opType != "MatMul") continue;
    const std::size_t summed = product.inputs[0] == weights ? rank - 1 : rank - 2;
    if (axis == summed || (product.inputs[0] == weights && product.inputs[1] == weights)) continue;
    return context.findings.push_back(findingAtNode(
        context, softmax.id,
        "Softmax along axis " + std::to_string(axis) + " of " + graph.tensor(weights).shape.text() +
            ", but " + product.name + " sums over axis " + std::to_string(summed) +
            ": what it weighs with does not sum to 1; along the last axis (keys) it would"));
  }
}

void question(EvaluationContext& context) {
  for (const Node& node : context.graph().nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    if (node.opType == "Softmax" || node.opType == "LogSoftmax")
      checkBatch(context, node), checkSingle(context, node);
    if (node.opType == "Softmax") checkWeights(context, node);
  }
}

}  // namespace

ConditionDef softmaxAxisCondition() {
  ConditionDef def;
  def.id = "softmax_axis";
  def.title = "Softmax along the wrong axis";
  def.doc =
      "From the graph: a softmax of [batch, classes] runs over the batch, or over a single class; or the "
      "weights [.., queries, keys] of an attention are normalised along another axis than the one that their "
      "product with the values sums "
      "over.";
  def.advice = "Give softmax() the axis whose elements compete: the classes, or the keys of each query.";
  def.target = Target::kActivation;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
