#include "watchpoints/online.h"

#include <algorithm>
#include <tuple>

namespace msdbg::watch {

std::string whyNotOnline(const Watchpoint& watchpoint) {
  const auto reason = watchpoint.condition->notOnline;
  return reason ? reason(watchpoint.parameters, watchpoint.recommended) : "";
}

std::string onlineConditions() {
  std::vector<std::string> ids;
  for (const ConditionDef& def : allConditions())
    if (!def.notOnline || def.notOnline({}, true).empty()) ids.emplace_back(def.id);
  return core::join(ids, ", ");
}

OnlineCheck::OnlineCheck(std::vector<Watchpoint> watchpoints)
    : m_watchpoints(std::move(watchpoints)), m_memory(m_watchpoints.size()) {}

std::vector<Finding> OnlineCheck::findings(std::size_t watchpoint, Source& source) {
  std::vector<Finding> found;
  std::vector<NotEvaluable> ignored;  // check() on the recorded run lists them
  std::int64_t evaluated = 0;
  const std::vector<core::Rank> ranks = source.ranks();
  const Watchpoint& asked = m_watchpoints[watchpoint];
  EvaluationContext context{.source = source,
                            .parameters = asked.parameters,
                            .recommended = asked.recommended,
                            .ranks = ranks,
                            .selected = [](core::Iteration) { return true; },
                            .cancel = {},
                            .findings = found,
                            .notEvaluable = ignored,
                            .evaluated = evaluated,
                            .memory = m_memory[watchpoint]};
  asked.condition->evaluate(context);
  // weight_initialization looks at iteration 0 by itself, and so again in iteration 1.
  const core::Iteration now = source.iterations(ranks.front()).front();
  std::erase_if(found, [&](const Finding& finding) { return finding.iteration != now; });
  return found;
}

std::vector<OnlineHit> OnlineCheck::evaluate(Source& source) {
  std::set<Place> firing;
  std::vector<OnlineHit> begun;
  for (std::size_t i = 0; i < m_watchpoints.size(); ++i) {
    for (Finding& finding : findings(i, source)) {
      const Place place(i, finding.tensor);
      OnlineHit hit{hitOf(m_watchpoints[i], std::move(finding)), i};
      if (m_watchpoints[i].recommended && hit.effectiveSeverity == Severity::kHint) continue;
      if (firing.insert(place).second && !m_firing.contains(place)) begun.push_back(std::move(hit));
    }
  }
  m_firing = std::move(firing);
  std::ranges::stable_sort(begun, {}, [](const OnlineHit& hit) {
    return std::tuple(hit.order, hit.precedence, hit.tensor, hit.watchpoint);
  });
  return begun;
}

}  // namespace msdbg::watch
