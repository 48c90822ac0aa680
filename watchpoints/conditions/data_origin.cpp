#include "watchpoints/conditions/data_origin.h"

#include <algorithm>
#include <iterator>

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {
namespace {

bool isOfData(const core::Graph& graph, const Finding& finding) {
  return finding.tensor.valid() && graph.tensor(finding.tensor).isSource() && isData(graph, finding.tensor);
}

bool isForward(const core::Graph& graph, const Finding& finding) {
  return finding.node.valid() && graph.node(finding.node).phase == core::Phase::kForward;
}

bool has(EvaluationContext& context, core::Rank rank, core::Iteration iteration, core::TensorId tensor) {
  const core::GraphPart* part = context.source.part(rank, iteration);
  return !part || part->has(tensor);
}

bool lacksOperators(EvaluationContext& context, core::Rank rank) {
  return std::ranges::any_of(context.graph().nodes(), [&](const core::Node& node) {
    return node.phase == core::Phase::kForward && !node.outputs.empty() &&
           !has(context, rank, context.iteration, node.outputs.front());
  });
}

}  // namespace

void DataOrigins::hold(EvaluationContext& context, std::size_t first) {
  const core::Graph& graph = context.graph();
  std::vector<Finding>& all = context.findings;
  std::vector<Finding> others;
  for (std::size_t i = first; i < all.size(); ++i) {
    Finding& finding = all[i];
    Rank& rank = m_ranks[finding.rank];
    if (isOfData(graph, finding) && (!rank.held.empty() || lacksOperators(context, finding.rank))) {
      rank.held.push_back(std::move(finding));
      continue;
    }
    if (!rank.held.empty() && rank.origin.empty() && isForward(graph, finding) &&
        !has(context, finding.rank, rank.held.front().iteration, finding.tensor) &&
        !has(context, finding.rank, context.iteration,
             rank.held.front().tensor))  // else it is given here, too
      rank.origin.push_back(finding);
    others.push_back(std::move(finding));
  }
  all.resize(first);
  std::ranges::move(others, std::back_inserter(all));
}

void DataOrigins::finish(EvaluationContext& context) {
  for (auto& [number, rank] : m_ranks) {
    if (!rank.held.empty() && !rank.origin.empty()) {
      Finding &data = rank.held.front(), &origin = rank.origin.front();
      data.detail +=
          "; iteration " + std::to_string(origin.iteration.value) +
          ", which holds the operators, shows what makes them: " + context.graph().node(origin.node).name +
          ", " + origin.detail;
      data.writtenAt = origin.tensor;
      data.advice = origin.advice;
    }
    std::ranges::move(rank.held, std::back_inserter(context.findings));
  }
  m_ranks.clear();
}

}  // namespace msdbg::watch
