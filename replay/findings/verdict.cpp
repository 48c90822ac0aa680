#include "replay/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "replay/findings.h"

namespace msdbg::replay {
namespace {

struct Missing {
  std::int64_t damaged = 0, absent = 0, thinned = 0;  // absent: thinned or never recorded
  std::int64_t flags = 0;                             // of which only NaN and Inf were counted
};

Missing missingOf(const watch::CheckReport& report) {
  Missing missing;
  for (const watch::NotEvaluable& n : report.notEvaluable) {
    if (n.reason == "damaged") missing.damaged += n.count;
    if (n.reason == "no_value" || n.reason == "thinned") missing.absent += n.count;
    if (n.reason == "thinned") missing.thinned += n.count;
    if (n.reason == "only_flags") missing.flags += n.count;
  }
  return missing;
}

// An earlier fault may lie in what is lost. What costs no iterations of its own (a journal, a rank) may hide
// any.
bool mayHideEarlier(const Damage& damage, const watch::Hit& first) {
  return damage.iterations.empty() || damage.iterations.front() <= first.iteration.value;
}

std::string firstWrong(const watch::Hit& first, const RunState& state) {
  const bool hidden =
      std::ranges::any_of(state.damage, [&](const Damage& d) { return mayHideEarlier(d, first); });
  if (hidden) return "FIRST WRONG of what could be read";
  const bool inGap = std::ranges::any_of(state.gaps, [&](const Gap& gap) {
    return !gap.iterations.empty() && gap.iterations.front() <= first.iteration.value;
  });
  return inGap ? "FIRST WRONG of what was recorded" : "FIRST WRONG";
}

std::string noFault(const Missing& missing, bool mostly, const RunState& state) {
  if (mostly && missing.damaged > missing.absent)
    return "no fault found, but most of what was asked is damaged";
  if (mostly && missing.thinned > missing.absent / 2)
    return "no fault found in what was kept: most of the statistics that were asked for were thinned to keep "
           "within --max-size";
  if (mostly) return "no fault found, but most of what was asked is not recorded";
  if (!state.damage.empty()) return "no fault found in what could be read";
  if (missing.flags > 0)
    return "no NaN and no Inf found that is a fault; nothing else is recorded of most tensors (--statistics "
           "flags)";
  if (state.recording) return "no fault found so far";
  return state.endedWell() && state.gaps.empty() ? "no fault found" : "no fault found in what was recorded";
}

// The first one by its title; a spike that passed says less than any other.
std::string hintsOf(const watch::CheckReport& report) {
  std::vector<std::string> titles;
  for (const bool spikes : {false, true})
    for (const watch::Hit& hint : report.hints)
      if ((hint.condition->id == "statistic_spike") == spikes &&
          !std::ranges::count(titles, hint.condition->title))
        titles.emplace_back(hint.condition->title);
  if (titles.empty()) return {};
  return titles.size() == 1 ? titles[0] : fmt::format("{}, and {} more", titles[0], titles.size() - 1);
}

}  // namespace

Verdict verdictOf(const watch::CheckReport& report, const RunState& state, std::optional<double> lastLoss) {
  const Missing missing = missingOf(report);
  const bool mostly = missing.damaged + missing.absent > report.evaluated || !state.hasStatistics;
  Verdict verdict;
  verdict.unread = damageSentence(state);
  if (const std::string gaps = gapSentence(state); !gaps.empty())
    verdict.unread += (verdict.unread.empty() ? "" : "; ") + gaps;
  verdict.ended = endSentence(state);
  verdict.whole = state.endedWell() && state.damage.empty() && state.gaps.empty() && !mostly;
  if (report.first) {
    verdict.kind = Verdict::Kind::kFault;
    verdict.found = firstWrong(*report.first, state);
  } else if (report.evaluated > 0) {
    verdict.kind = mostly ? Verdict::Kind::kNoAnswer : Verdict::Kind::kNoFault;
    verdict.found = noFault(missing, mostly, state);
    verdict.hints = hintsOf(report);
    if (lastLoss && !std::isfinite(*lastLoss)) {
      verdict.kind = Verdict::Kind::kNoAnswer;
      verdict.whole = false;
      verdict.found = "the loss ends as " + core::formatDouble(*lastLoss) +
                      ", and what was asked does not show where that began";
    }
  } else {
    verdict.found = "nothing could be judged: " + whyNothingJudged(report);
    verdict.whole = false;
  }
  return verdict;
}

std::string kindName(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::kFault:
      return "fault";
    case Verdict::Kind::kNoFault:
      return "no_fault";
    case Verdict::Kind::kNoAnswer:
      break;
  }
  return "no_answer";
}

std::string whyNothingJudged(const watch::CheckReport& report) {
  std::string reason = "nothing is recorded that the watchpoints could be asked of";
  std::int64_t most = 0;
  for (const watch::NotEvaluable& n : report.notEvaluable)
    if (n.count > most) {
      most = n.count;
      reason = n.condition + ": " + reasonText(n.reason) + (n.detail.empty() ? "" : ", " + n.detail);
    }
  return reason;
}

}  // namespace msdbg::replay
