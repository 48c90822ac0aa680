// The divergence of a normal distribution from the standard one, written by hand in a VAE:
// -0.5 * (1 + log_var - mu ** 2 - exp(log_var)). What stands in the brackets is never above zero.
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// log_var and the exponential of the same log_var with the other sign, and a square with that: 1 for
/// log_var - mu ** 2 - exp(log_var), -1 for minus that; 0: something else.
int signOfBrackets(const Graph& graph, TensorId tensor) {
  const std::vector<Summand> parts = summandsOf(graph, tensor);
  for (const Summand& power : parts) {
    const Node* exp = producerOf(graph, power.tensor);
    if (!exp || exp->opType != "Exp") continue;
    const bool log = std::ranges::any_of(parts, [&](const Summand& part) {
      return part.tensor == exp->inputs.front() && part.subtracted != power.subtracted;
    });
    const bool square = std::ranges::any_of(parts, [&](const Summand& part) {
      return part.subtracted == power.subtracted && squaredInput(graph, part.tensor).valid();
    });
    if (log && square) return power.subtracted ? 1 : -1;
  }
  return 0;
}

/// The divergence that makes the loss smaller the larger it is, or the difference that subtracts it; nullptr:
/// none.
const Node* divergenceOfWrongSign(const Graph& graph, TensorId tensor, int sign, int depth) {
  const Node* node = producerOf(graph, tensor);
  if (!node || node->inputs.empty() || depth > 12) return nullptr;
  if (isSum(node)) {
    if (const int brackets = signOfBrackets(graph, tensor); brackets != 0)
      return brackets * sign > 0 ? node : nullptr;
    const int second = node->opType.ends_with("ub") ? -sign : sign;
    for (std::size_t i = 0; i < node->inputs.size(); ++i)
      if (const Node* found =
              divergenceOfWrongSign(graph, node->inputs[i], i == 0 ? sign : second, depth + 1))
        return i > 0 && second != sign ? node : found;
    return nullptr;
  }
  static constexpr auto kKeeps = std::to_array<std::string_view>(
      {"ReduceMean", "ReduceSum", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Cast"});
  if (isOneOf(node, kKeeps)) return divergenceOfWrongSign(graph, node->inputs[0], sign, depth + 1);
  if (node->opType == "Neg") return divergenceOfWrongSign(graph, node->inputs[0], -sign, depth + 1);
  for (std::size_t i = 0; i < node->inputs.size(); ++i) {
    const bool scales = node->opType == "Mul" || node->opType == "aten.mul" ||
                        (i == 0 && (node->opType == "Div" || node->opType == "aten.div"));
    const std::optional<double> factor = scales ? constantBeside(graph, *node, i) : std::nullopt;
    if (factor && *factor != 0)
      return divergenceOfWrongSign(graph, node->inputs[i], *factor < 0 ? -sign : sign, depth + 1);
  }
  return nullptr;
}

}  // namespace

void checkDivergenceSign(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  const Node* wrong = divergenceOfWrongSign(graph, loss, 1, 0);
  if (!wrong) return;
  const bool brackets = signOfBrackets(graph, wrong->outputs.front()) != 0;
  Finding finding = findingAtNode(
      context, wrong->id,
      std::string(brackets ? "1 + log_var - mu ** 2 - exp(log_var) is never above zero, and the loss adds it"
                           : "it subtracts the divergence, -0.5 * (1 + log_var - mu ** 2 - exp(log_var))") +
          ": training makes the distance to the standard normal distribution large, not small");
  finding.advice =
      "The divergence is -0.5 * sum(1 + log_var - mu ** 2 - exp(log_var)), and is added to the loss.";
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
