#include "watchpoints/conditions/severed_gradient.h"

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

/// "grad/Sequential/3/SwishFnBackward/mul-op1" -> "grad/Sequential/3/SwishFnBackward". Torch's own are
/// numbered
/// ("AddmmBackward0"), a Function of the program is not; "": it is in none such.
std::string_view ownFunction(const Node& node) {
  constexpr std::string_view kBackward = "Backward";
  const std::string_view name = node.name;
  const std::size_t slash = name.rfind('/');
  const std::string_view scope = slash == name.npos ? std::string_view() : name.substr(0, slash);
  return node.phase == core::Phase::kBackward && scope.ends_with(kBackward) ? scope : std::string_view();
}

/// Made of the gradient that a backward pass begins with, by tensor: what reads the loss alone. Empty: there
/// is none.
std::vector<bool> madeOfTheLoss(const Graph& graph) {
  std::vector<bool> made(graph.tensors().size());
  bool any = false;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kBackward) continue;
    const auto isIt = [&](TensorId input) {
      return made[input.index()] || graph.tensor(input).role == core::TensorRole::kLoss;
    };
    const bool is = std::ranges::any_of(node.inputs, isIt);
    any = any || is;
    for (const TensorId output : node.outputs) made[output.index()] = is;
  }
  return any ? made : std::vector<bool>();
}

}  // namespace

std::optional<Finding> severedGradient(const EvaluationContext& context) {
  const Graph& graph = context.graph();
  const auto isOfAFunction = [](const Node& node) { return !ownFunction(node).empty(); };
  if (std::ranges::none_of(graph.nodes(), isOfAFunction)) return std::nullopt;
  const std::vector<bool> made = madeOfTheLoss(graph);
  if (made.empty()) return std::nullopt;
  // Of a Function all of whose operators are so, and whose result goes on to other backward nodes.
  for (const Node& node : graph.nodes()) {
    const std::string_view scope = ownFunction(node);
    if (scope.empty()) continue;
    const Node* last = nullptr;
    bool uses = false;
    for (const Node& other : graph.nodes())
      if (ownFunction(other) == scope)
        last = &other,
        uses = uses || std::ranges::any_of(other.outputs, [&](TensorId t) { return made[t.index()]; });
    const auto goesOn = [&](TensorId output) {
      return std::ranges::any_of(graph.consumers(output), [&](core::NodeId user) {
        return graph.node(user).phase == core::Phase::kBackward && ownFunction(graph.node(user)) != scope;
      });
    };
    if (uses || !std::ranges::any_of(last->outputs, goesOn)) continue;
    const std::string function(scope.substr(scope.rfind('/') + 1));
    Finding finding = findingAtNode(
        context, last->id,
        "what " + function +
            " gives back is computed without the gradient that it was given: all gradients before it do not "
            "depend on the loss");
    finding.advice = "backward(ctx, grad_output) returns grad_output times the derivative.";
    return finding;
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
