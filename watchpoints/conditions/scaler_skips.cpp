#include "watchpoints/conditions/scaler_skips.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace msdbg::watch {
namespace {

bool isOfForward(const core::Graph& graph, const Finding& finding) {
  return !finding.node.valid() || graph.node(finding.node).phase == core::Phase::kForward;
}

}  // namespace

bool stepIsSkipped(EvaluationContext& context, core::Rank rank) {
  return context.rows.scalar(rank, "step_skipped").value_or(0) != 0;
}

void ScalerSkips::hold(EvaluationContext& context, std::size_t first) {
  if (m_held.empty() && context.findings.size() == first) return;
  for (const core::Rank rank : context.ranks) {
    if (!stepIsSkipped(context, rank)) {
      m_held.erase(rank);
      continue;
    }
    std::vector<Finding>& held = m_held[rank];
    const auto isHeld = [&](const Finding& finding) {
      return finding.rank == rank && !isOfForward(context.graph(), finding);
    };
    const auto begin = context.findings.begin() + static_cast<std::ptrdiff_t>(first);
    const auto split = std::stable_partition(begin, context.findings.end(), std::not_fn(isHeld));
    std::move(split, context.findings.end(), std::back_inserter(held));
    context.findings.erase(split, context.findings.end());
    if (context.rows.scalar(rank, "loss_scale").value_or(1) >= 1) continue;
    std::move(held.begin(), held.end(), std::back_inserter(context.findings));
    held.clear();
  }
}

}  // namespace msdbg::watch
