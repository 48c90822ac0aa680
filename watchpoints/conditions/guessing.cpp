#include "watchpoints/conditions/guessing.h"

#include <cmath>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

/// y of a loss that is mean((y' - y)^2), y' being learnt. Invalid: it is another.
static TensorId targetOfSquares(const Graph& graph) {
  const TensorId loss = followedTensor(graph, {});
  const Node* mean = loss.valid() ? producerOf(graph, loss) : nullptr;
  if (!mean || mean->opType != "ReduceMean") return {};
  const Node* square = producerOf(graph, mean->inputs.front());
  const bool isSquare = square && ((square->opType == "Mul" && square->inputs[0] == square->inputs[1]) ||
                                   (square->opType == "Pow" && constantOf(graph, square->inputs[1]) == 2.0));
  const Node* difference = isSquare ? makerOf(graph, square->inputs[0]) : nullptr;
  if (!difference || difference->opType != "Sub") return {};
  const std::vector<bool> learnt = learntTensors(graph);
  for (const std::size_t i : {0, 1}) {
    const TensorId target = originOf(graph, difference->inputs[i]);
    const core::Shape &mine = graph.tensor(difference->inputs[i]).shape,
                      &other = graph.tensor(difference->inputs[1 - i]).shape;
    if (isData(graph, target) && learnt[difference->inputs[1 - i].index()] && mine == other) return target;
  }
  return {};
}

Guessing::Guessing(const Graph& graph) : m_classes(classesOfLoss(graph)), m_target(targetOfSquares(graph)) {}

void Guessing::add(EvaluationContext& context) {
  for (const core::Rank rank : context.ranks) {
    const StatisticsRow* row = m_target.valid() ? context.rows.now(rank, m_target) : nullptr;
    if (!row || row->values.nonFinite() > 0 || row->values.count < 2) continue;
    m_variances += row->values.std * row->values.std;
    ++m_count;
  }
}

std::optional<double> Guessing::cost() const {
  if (m_classes > 1) return std::log(static_cast<double>(m_classes));
  return m_count > 0 && m_variances > 0 ? std::optional(m_variances / m_count) : std::nullopt;
}

std::string Guessing::text(const Graph& graph) const {
  if (m_classes > 1) return "guessing one of " + std::to_string(m_classes) + " classes";
  return "giving the mean of " + graph.tensor(m_target).name + " for every sample";
}

}  // namespace msdbg::watch
