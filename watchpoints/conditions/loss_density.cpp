// Densities written by hand, and mixtures of them:
//   log N(y; mu, sigma) = -0.5 * ((y - mu) / sigma) ** 2 - log(sigma) - 0.5 * log(2 pi)
//   log(sum over k of w_k N_k) = logsumexp(log(w_k) + log N_k)
#include <algorithm>

#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// The divisor of a quotient that is squared, or of a square that is divided. What reads parts of larger
/// tensors, of which a recorder shows the whole, is not in our terms: its operands may be other parts.
TensorId divisorOfSquare(const Graph& graph, TensorId tensor) {
  const TensorId base = squaredInput(graph, tensor);
  const Node* quotient = producerOf(graph, base.valid() ? base : tensor);
  if (!quotient || quotient->opType != "Div" || quotient->inputs.size() != 2) return {};
  const bool square = base.valid() || squaredInput(graph, unscaled(graph, quotient->inputs[0])).valid();
  return square ? quotient->inputs[1] : TensorId();
}

bool isAddedUp(const Graph& graph, const Node& node) {
  return std::ranges::any_of(graph.consumers(node.outputs.front()), [&](core::NodeId user) {
    const Node& reader = graph.node(user);
    return reader.phase == core::Phase::kForward && isSum(&reader);
  });
}

/// ((y - mu) / x) ** 2 and x, as it is, in one sum.
void checkDeviation(EvaluationContext& context, const Node& sum, const std::vector<Summand>& parts,
                    const std::vector<bool>& learnt) {
  const Graph& graph = context.graph();
  for (const Summand& square : parts) {
    const TensorId divisor = divisorOfSquare(graph, unscaled(graph, square.tensor));
    if (!divisor.valid() || !learnt[divisor.index()]) continue;
    const bool isAdded = std::ranges::any_of(
        parts, [&](const Summand& part) { return unscaled(graph, part.tensor) == divisor; });
    if (!isAdded) continue;
    const Node* maker = producerOf(graph, divisor);
    const std::string name = graph.tensor(divisor).fullName();
    Finding finding =
        findingAtNode(context, sum.id,
                      "a squared error is divided by " + name + ", and " + name +
                          " itself stands in the same sum: the density of a normal distribution has " +
                          (maker && maker->opType == "Exp"
                               ? "its logarithm there, " + graph.tensor(maker->inputs[0]).fullName()
                               : "its logarithm there, or is divided by its exponential"));
    finding.severity = Severity::kHint;
    finding.advice =
        "The log-density is -0.5 * ((y - mu) / sigma) ** 2 - log(sigma). Where the network gives log_sigma, "
        "divide by exp(log_sigma) and subtract log_sigma.";
    return context.findings.push_back(std::move(finding));
  }
}

/// Whether log(sum(exp(x))) is made of the sum, by an operator or by hand, its maximum taken off or not.
bool isExponentiated(const Graph& graph, const Node& sum) {
  static constexpr auto kExponentials = std::to_array<std::string_view>({"Exp", "aten.logsumexp"});
  std::vector<TensorId> open{sum.outputs.front()};
  for (std::size_t i = 0; i < open.size() && i < 8; ++i)
    for (const core::NodeId user : graph.consumers(open[i])) {
      const Node& reader = graph.node(user);
      if (reader.phase != core::Phase::kForward) continue;
      if (isOneOf(&reader, kExponentials)) return true;
      if (isSum(&reader)) open.push_back(reader.outputs.front());
    }
  return false;
}

/// A softmax, not its logarithm, beside what is exponentiated with it.
void checkWeights(EvaluationContext& context, const Node& sum, const std::vector<Summand>& parts,
                  const std::vector<bool>& learnt) {
  static constexpr auto kProbabilities = std::to_array<std::string_view>({"Softmax", "aten._softmax"});
  const Graph& graph = context.graph();
  for (const Summand& part : parts) {
    const Node* softmax = makerOf(graph, part.tensor);
    if (!isOneOf(softmax, kProbabilities) || !learnt[part.tensor.index()]) continue;
    if (parts.size() < 2 || !isExponentiated(graph, sum)) continue;
    Finding finding = findingAtNode(
        context, sum.id,
        "the probabilities of " + softmax->name +
            " are added to what is exponentiated then, which takes logarithms: probabilities between 0 and 1 "
            "hardly weigh anything there");
    finding.severity = Severity::kHint;
    finding.advice = "A mixture is logsumexp(log_softmax(logits) + log_density): take the log-softmax.";
    return context.findings.push_back(std::move(finding));
  }
}

}  // namespace

void checkDensity(EvaluationContext& context, const Node& node, const std::vector<bool>& learnt) {
  if (!isSum(&node) || isAddedUp(context.graph(), node)) return;
  const std::vector<Summand> parts = summandsOf(context.graph(), node.outputs.front());
  checkDeviation(context, node, parts, learnt);
  checkWeights(context, node, parts, learnt);
}

}  // namespace msdbg::watch
