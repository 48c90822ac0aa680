#include "watchpoints/conditions/weights_return.h"

#include <algorithm>

#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

constexpr std::size_t kReturns = 3, kShown = 3;
constexpr std::size_t kMost = 64;  // weights that are looked at: a state is loaded as a whole
constexpr std::int64_t kAway = 5;  // iterations

std::string listed(const std::vector<core::Iteration>& iterations) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, iterations.size()); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(iterations[i].value);
  return text + (iterations.size() > kShown ? ", …" : "");
}

}  // namespace

WeightsReturn::WeightsReturn(const core::Graph& graph) {
  std::vector<bool> known(graph.tensors().size());
  for (const ParameterUpdate& update : parameterUpdates(graph)) {
    const core::TensorId weight = rootOf(graph, update.parameter);
    if (known[weight.index()] || graph.tensor(weight).shape.rank() < 2) continue;
    known[weight.index()] = true;
    ++m_count;
    if (m_weights.size() < kMost) m_weights.push_back({.tensor = weight});
  }
}

void WeightsReturn::evaluate(EvaluationContext& context) {
  if (context.ranks.empty()) return;
  m_iterations.push_back(context.iteration);
  for (Weight& weight : m_weights) look(context, weight);
}

void WeightsReturn::look(EvaluationContext& context, Weight& weight) {
  if (!weight.first) weight.rank = context.rankWith(weight.tensor);
  const StatisticsRow* row = context.rows.now(weight.rank, weight.tensor);
  if (!row) return;
  ++context.evaluated;
  if (!weight.first) weight.first = row->values.hash;
  if (row->values.hash != *weight.first) {
    ++weight.away;
  } else if (weight.away > 0) {
    weight.often = weight.often || weight.away < kAway;
    weight.returns.push_back(context.iteration);
    weight.away = 0;
  }
}

std::optional<Finding> WeightsReturn::finding(EvaluationContext& context) const {
  if (m_weights.empty()) return std::nullopt;
  const std::vector<core::Iteration>& returns = m_weights.front().returns;
  const bool all = std::ranges::all_of(
      m_weights, [&](const Weight& weight) { return !weight.often && weight.returns == returns; });
  if (!all || returns.size() < kReturns || returns.back() < m_iterations[m_iterations.size() / 2])
    return std::nullopt;
  Finding found = findingAt(context, {returns.front(), m_weights.front().rank, m_weights.front().tensor},
                            precedence::kOther);
  found.detail = (m_count == 1 ? "it is" : "it and " + std::to_string(m_count - 1) + " more weights are") +
                 " again, bit for bit, what training began with, in iterations " + listed(returns) +
                 ": the first weights are written back, and what was learnt in between is thrown away";
  found.advice =
      "Look for load_state_dict() or copy_() the wrong way round: a target network is written from the one "
      "that "
      "is trained. Where training begins anew on purpose (folds of a cross-validation) this is right.";
  return found;
}

}  // namespace msdbg::watch
