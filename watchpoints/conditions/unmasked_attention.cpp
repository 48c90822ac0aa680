#include "watchpoints/conditions/unmasked_attention.h"

#include "watchpoints/conditions/makers.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// What hides places from each other before a softmax.
struct Hiding {
  bool known = true;  // false: something that nobody looked at may hide more
  double next = 0, before = 0, later = 0;
  NodeId by;  // the mask that begins first; invalid: none

  void add(const Graph& graph, const Node& node) {
    next = std::max(next, foreignAttribute(node, fact::kHidesNext, 0.0));
    before = std::max(before, foreignAttribute(node, fact::kHidesBefore, 0.0));
    later = std::max(later, foreignAttribute(node, fact::kHidesLater, 0.0));
    by = node.id;
    for (const TensorId input : node.inputs)
      if (const NodeId maker = maskMaker(graph, input); maker.valid() && graph.node(maker).opType == "Trilu")
        by = maker;
  }
};

bool hasFacts(const Node& node) { return node.attributes.contains(fact::kHidesNext); }

bool isFused(const Node& node) { return node.opType.starts_with("aten._scaled_dot_product"); }

/// Of F.scaled_dot_product_attention: its own flag, or the mask that it was given.
Hiding hidingOfFused(const Graph& graph, const Node& node) {
  Hiding hiding;
  constexpr std::size_t kFactors = 3;
  if (foreignAttribute(node, "is_causal", false))
    hiding.next = 1;
  else if (hasFacts(node))
    hiding.add(graph, node);
  else
    hiding.known = node.inputs.size() == kFactors;
  return hiding;
}

/// Back from the softmax to the product that makes the scores.
Hiding hidingBefore(const Graph& graph, const Node& softmax) {
  static constexpr auto kProducts = std::to_array<std::string_view>({"MatMul", "aten.bmm", "aten.baddbmm"});
  static constexpr auto kPasses = std::to_array<std::string_view>(
      {"Identity", "Cast", "Mul", "Div", "aten.mul", "aten.div"});  // by a number
  Hiding hiding;
  TensorId scores = softmax.inputs.front();
  for (int steps = 0; steps < 8; ++steps) {
    const Node* node = producerOf(graph, scores);
    if (isOneOf(node, kProducts)) return hiding;
    if (!node) break;
    if (hasFacts(*node)) hiding.add(graph, *node);
    if (!hasFacts(*node) && (!isOneOf(node, kPasses) || node->inputs.size() != 1)) break;
    const std::vector<bool> learnt = learntTensors(graph);
    for (const TensorId input : node->inputs)
      if (learnt[input.index()]) scores = input;
  }
  hiding.known = false;
  return hiding;
}

}  // namespace

bool weighsRightAway(const Graph& graph, TensorId weights) {
  static constexpr auto kProducts = std::to_array<std::string_view>({"MatMul", "aten.bmm"});
  static constexpr auto kPasses = std::to_array<std::string_view>({"Dropout", "Identity", "Cast"});
  bool any = false;
  for (const NodeId user : graph.consumers(weights)) {
    const Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward) continue;
    if (!isOneOf(&node, kProducts) &&
        !(isOneOf(&node, kPasses) && weighsRightAway(graph, node.outputs.front())))
      return false;
    any = true;
  }
  return any;
}

namespace {

/// Self-attention over so many places.
bool isAttention(const Graph& graph, const Node& node, std::int64_t places) {
  static constexpr auto kSoftmax =
      std::to_array<std::string_view>({"Softmax", "aten._softmax", "aten._safe_softmax"});
  const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
  if (node.phase != core::Phase::kForward || !shape.known() || shape.rank() < 3) return false;
  const std::size_t rank = shape.rank();
  if (isFused(node)) return shape[rank - 2] == places;
  const std::int64_t axis = softmaxAxis(node);
  return isOneOf(&node, kSoftmax) && (axis == -1 || axis == static_cast<std::int64_t>(rank) - 1) &&
         shape[rank - 1] == places && shape[rank - 2] == places &&
         weighsRightAway(graph, node.outputs.front());
}

const Node* nodeNamed(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes(), name, &Node::name);
  return found == graph.nodes().end() ? nullptr : &*found;
}

Finding findingOf(const EvaluationContext& context, const Node& attention, const Hiding& hiding,
                  const std::string& tokens) {
  const std::string label = "the label of place i is token i + 1 of " + tokens;
  const bool turned = hiding.before > 0.5, later = hiding.later > 0.5;
  Finding finding = findingAtNode(
      context, hiding.by.valid() ? hiding.by : attention.id,
      turned ? "the mask is turned round: place i sees what comes after it, not what was before; " + label +
                   ", so that the answer is seen"
      : later ? "the mask begins one place too late: place i sees place i + 1; " + label +
                    ", so that the answer is seen"
              : "no mask hides what comes after a place, and " + label + ": the answer is seen");
  finding.tensor = context.graph().node(finding.node).outputs.front();
  return finding;
}

/// Of the attention between an embedding and the loss whose labels are its next tokens.
std::optional<Finding> leakBetween(const EvaluationContext& context, const Node& embedding,
                                   const Node& loss) {
  const Graph& graph = context.graph();
  const core::TensorInfo& tokens = graph.tensor(embedding.inputs.at(1));
  if (!tokens.shape.known() || tokens.shape.rank() == 0) return std::nullopt;
  const std::vector<bool> made = madeFrom(graph, embedding.outputs.front()),
                          parts = partsOf(graph, loss.inputs.front());
  for (const Node& node : graph.nodes()) {
    const std::int64_t first = tokens.shape[0], last = tokens.shape[tokens.shape.rank() - 1];
    const std::size_t read = isFused(node) ? 3 : 1;
    if (node.inputs.size() < read || !parts[node.outputs.front().index()]) continue;
    if (!isAttention(graph, node, last) && !isAttention(graph, node, first)) continue;
    if (!std::ranges::all_of(std::span(node.inputs).first(read), [&](TensorId t) { return made[t.index()]; }))
      continue;  // of what an encoder made
    const Hiding hiding = isFused(node) ? hidingOfFused(graph, node) : hidingBefore(graph, node);
    if (hiding.known && hiding.next <= 0.5) return findingOf(context, node, hiding, tokens.name);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> unmaskedAttention(const EvaluationContext& context) {
  const Graph& graph = context.graph();
  for (const Node& loss : graph.nodes()) {
    const std::string name = foreignAttribute(loss, fact::kNextOf, std::string());
    const Node* embedding = name.empty() ? nullptr : nodeNamed(graph, name);
    if (!embedding || embedding->inputs.size() < 2) continue;
    if (std::optional<Finding> found = leakBetween(context, *embedding, loss)) return found;
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
