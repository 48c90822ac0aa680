// A logarithm and its exponential in one loss: of a normalising flow z = x * exp(s) + t, whose loss is
// z ** 2 / 2 - s, of a likelihood d ** 2 * exp(-s) + s. They hold each other where their signs differ; where
// both have the same sign the loss has no least value.
#include <algorithm>

#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// What a loss adds up, past sums, means and factors that are numbers: each tensor with its sign, once,
/// however many ways lead to it.
void addLinear(const Graph& graph, TensorId tensor, bool negative, int depth, std::vector<Summand>& parts) {
  constexpr int kDeepest = 48;
  const auto isIt = [&](const Summand& part) { return part.tensor == tensor && part.subtracted == negative; };
  if (std::ranges::any_of(parts, isIt)) return;
  parts.push_back({tensor, negative});
  const Node* node = depth < kDeepest ? producerOf(graph, tensor) : nullptr;
  if (!node || node->inputs.empty()) return;
  if (isSum(node)) {
    addLinear(graph, node->inputs[0], negative, depth + 1, parts);
    if (node->inputs.size() > 1)
      addLinear(graph, node->inputs[1], negative != node->opType.ends_with("ub"), depth + 1, parts);
    return;
  }
  if (const std::optional<Signed> next = signedInput(graph, *node))
    addLinear(graph, next->input, negative != next->negated, depth + 1, parts);
  else if (node->opType == "aten.sum")  // of a part of a larger tensor
    addLinear(graph, node->inputs[0], negative, depth + 1, parts);
}

/// The tensor before a sign, and the sign.
Summand withoutSign(const Graph& graph, TensorId tensor) {
  Summand bare{tensor};
  for (int steps = 0; steps < 4; ++steps) {
    const Node* node = producerOf(graph, bare.tensor);
    static constexpr auto kScales =
        std::to_array<std::string_view>({"Neg", "Mul", "aten.mul", "aten.div", "Div"});
    const std::optional<Signed> next = isOneOf(node, kScales) ? signedInput(graph, *node) : std::nullopt;
    if (!next) break;
    bare = {next->input, bare.subtracted != next->negated};
  }
  return bare;
}

/// Whether something is multiplied by the exponential, or divided by it; nullopt: neither, or both.
std::optional<bool> divides(const Graph& graph, TensorId exponential) {
  bool times = false, over = false;
  for (const core::NodeId user : graph.consumers(exponential)) {
    const Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward || node.inputs.size() != 2) continue;
    times = times || isProduct(&node);
    over = over || ((node.opType == "Div" || node.opType == "aten.div") && node.inputs[1] == exponential);
  }
  return times == over ? std::nullopt : std::optional(over);
}

/// A square that has a part in the loss, and that the tensor has a part in.
bool isSquared(const Graph& graph, TensorId tensor, const std::vector<bool>& parts) {
  const std::vector<bool> made = madeFrom(graph, tensor);
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    if (node.phase != core::Phase::kForward || node.outputs.empty()) return false;
    const TensorId output = node.outputs.front();
    const TensorId base = squaredInput(graph, output);
    return parts[output.index()] && base.valid() && made[base.index()];
  });
}

}  // namespace

void checkExponentSign(EvaluationContext& context, TensorId loss, const std::vector<bool>& learnt) {
  const Graph& graph = context.graph();
  std::vector<Summand> linear;
  addLinear(graph, loss, false, 0, linear);
  const std::vector<bool> parts = partsOf(graph, loss);
  const auto isLinear = [&](TensorId tensor) {
    return std::ranges::any_of(linear, [&](const Summand& part) { return part.tensor == tensor; });
  };
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.opType != "Exp" || !learnt[node.inputs[0].index()])
      continue;
    const TensorId exponential = node.outputs.front();
    const std::optional<bool> over = divides(graph, exponential);
    // An exponential that is itself a term holds the logarithm, as in a divergence.
    if (!over || !parts[exponential.index()] || isLinear(exponential)) continue;
    const Summand bare = withoutSign(graph, node.inputs[0]);
    const bool shrinks = bare.subtracted != *over;
    bool same = false, opposite = false;
    for (const Summand& part : linear)
      if (part.tensor == bare.tensor) (part.subtracted == shrinks ? same : opposite) = true;
    if (!same || opposite || !isSquared(graph, exponential, parts)) continue;
    const std::string name = graph.tensor(bare.tensor).fullName();
    Finding finding = findingAtNode(
        context, producerOf(graph, loss)->id,
        std::string(shrinks ? "minus " : "") + name +
            " is a term of the loss, and what is squared in it is " + (*over ? "divided" : "multiplied") +
            " by its exponential, " + node.name +
            ": both become smaller together and nothing holds them, so that the loss has no least value; the "
            "logarithm of the scale has the other sign");
    finding.severity = Severity::kHint;
    finding.advice =
        "Of z = x * exp(s) + t the negative log-likelihood is z ** 2 / 2 - s; of (y - mu) / exp(s) it is "
        "that "
        "square / 2 + s.";
    return context.findings.push_back(std::move(finding));
  }
}

}  // namespace msdbg::watch
