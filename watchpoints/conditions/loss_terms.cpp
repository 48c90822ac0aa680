#include "watchpoints/conditions/loss_terms.h"

#include <algorithm>

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

struct Term {
  TensorId tensor;
  double factor;  // its part in what is made of it: only the sign counts across a reduction
};

/// What the operator adds up, with signs; empty: it does something else.
std::vector<Term> termsOf(const Graph& graph, const Node& node) {
  static constexpr auto kKeeps = std::to_array<std::string_view>(
      {"ReduceMean", "ReduceSum", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Cast"});
  if (isOneOf(&node, kKeeps)) return {{node.inputs[0], 1}};
  if (node.opType == "Neg") return {{node.inputs[0], -1}};
  if (node.opType == "Add") return {{node.inputs[0], 1}, {node.inputs[1], 1}};
  if (node.opType == "Sub") return {{node.inputs[0], 1}, {node.inputs[1], -1}};
  if (node.opType != "Mul" && node.opType != "Div") return {};
  for (const std::size_t i : {1, 0}) {
    const std::optional<double> factor = constantOf(graph, node.inputs[i]);
    if (!factor || *factor == 0 || (i == 0 && node.opType == "Div")) continue;
    return {{node.inputs[1 - i], node.opType == "Mul" ? *factor : 1 / *factor}};
  }
  return {};
}

constexpr double kAlone = 0.8;  // of all that falls

}  // namespace

LossTerms::LossTerms(const Graph& graph, TensorId loss) : m_loss(loss) {
  std::vector<TensorId> open;
  if (loss.valid()) open.push_back(loss);
  while (!open.empty()) {
    const TensorId tensor = open.back();
    open.pop_back();
    if (!m_means.emplace(tensor, Means{}).second) continue;
    if (const Node* node = producerOf(graph, tensor))
      for (const Term& term : termsOf(graph, *node)) open.push_back(term.tensor);
  }
}

void LossTerms::add(EvaluationContext& context) {
  if (context.ranks.empty()) return;
  for (auto& [tensor, means] : m_means) {
    const StatisticsRow* row = context.rows.now(context.rankWith(tensor), tensor);
    if (!row) continue;
    if (!means.seen) means.first = row->values.mean;
    means.seen = true;
    means.last = row->values.mean;
  }
}

LossTerms::Blame LossTerms::falling(const Graph& graph) const {
  Blame blame{m_loss, {}};
  TensorId at = m_loss;
  double sign = 1;
  while (const Node* node = producerOf(graph, at)) {
    const std::vector<Term> terms = termsOf(graph, *node);
    const Term* most = nullptr;
    double least = 0, sum = 0;  // of those that fall
    for (const Term& term : terms) {
      const Means& means = m_means.at(term.tensor);
      const double change = means.seen ? sign * term.factor * means.change() : 0;
      sum += std::min(change, 0.0);
      if (change >= least) continue;
      least = change;
      most = &term;
    }
    // Where several fall alike the whole sum has the wrong sign.
    if (!most || least > kAlone * sum) break;
    if (terms.size() > 1) blame = {at, most->tensor};
    if (most->factor < 0) sign = -sign;
    at = most->tensor;
  }
  return blame;
}

}  // namespace msdbg::watch
