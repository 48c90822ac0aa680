#include "watchpoints/online.h"

#include <algorithm>
#include <tuple>

#include "watchpoints/engine/running.h"

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

struct OnlineCheck::State {
  State(Source& source, const std::vector<Watchpoint>& watchpoints) : rows(source), steps(source) {
    for (const Watchpoint& watchpoint : watchpoints) running.emplace_back(watchpoint, source.graph());
  }
  IterationRows rows;
  Steps steps;
  std::vector<RunningWatchpoint> running;  // of each watchpoint
};

OnlineCheck::OnlineCheck(std::vector<Watchpoint> watchpoints) : m_watchpoints(std::move(watchpoints)) {}
OnlineCheck::~OnlineCheck() = default;

std::vector<OnlineHit> OnlineCheck::evaluate(Source& source) {
  if (!m_state) m_state = std::make_unique<State>(source, m_watchpoints);
  const std::vector<core::Rank> ranks = source.ranks();
  const core::Iteration now = source.iterations(ranks.front()).front();
  static const std::function<bool(core::Iteration)> all = [](core::Iteration) { return true; };
  m_state->rows.moveTo(source, now);
  const RunningWatchpoint::Moment moment{.source = source,
                                         .rows = m_state->rows,
                                         .step = m_state->steps.at(now),
                                         .iteration = now,
                                         .ranks = ranks,
                                         .allRanks = ranks,
                                         .selected = all,
                                         .beforeSelected = now.value > 0,
                                         .online = true};
  std::set<Place> firing;
  std::vector<OnlineHit> begun;
  for (std::size_t i = 0; i < m_watchpoints.size(); ++i) {
    m_state->running[i].evaluate(moment);
    for (Finding& finding : m_state->running[i].takeFindings()) {
      if (finding.iteration != now) continue;  // the beginning of what has gone on until now
      const Place place(i, finding.tensor);
      OnlineHit hit{hitOf(m_watchpoints[i], m_state->steps, std::move(finding)), i};
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
