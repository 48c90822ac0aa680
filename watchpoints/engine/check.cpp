#include "watchpoints/check.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "watchpoints/conditions/rows.h"
#include "watchpoints/engine/running.h"
#include "watchpoints/engine/walk.h"
#include "watchpoints/meaning/translated_source.h"
#include "watchpoints/meaning/wording.h"

namespace msdbg::watch {
namespace {

using core::Iteration;
using core::Rank;
using core::TensorId;

/// "3-9,12,15-16,18,20,…": the first five runs of neighbours, ascending.
std::string firstRanges(std::span<const std::int64_t> sorted) {
  constexpr int kMost = 5;
  std::size_t shown = 0;
  for (int runs = 0; shown < sorted.size(); ++shown)
    if ((shown == 0 || sorted[shown] > sorted[shown - 1] + 1) && ++runs > kMost) break;
  return core::formatRanges(sorted.first(shown)) + (shown < sorted.size() ? ",…" : "");
}

/// A hit while it is being ordered.
struct Candidate {
  Hit hit;
  std::size_t watchpoint = 0;  // index of the one that made it
  bool explained = false;      // another rank's hit at the same place is its cause
  std::vector<std::int64_t> furtherIterations;
};

class Check {
 public:
  Check(Source& source, const std::vector<Watchpoint>& watchpoints, const CheckOptions& options)
      : m_source(source), m_options(options), m_rows(source), m_steps(source) {
    for (const Watchpoint& watchpoint : watchpoints) m_running.emplace_back(watchpoint, source.graph());
  }

  CheckReport run() {
    walk();
    m_report.cancelled = m_options.cancel.cancelled();
    dropExcused();
    for (Candidate& candidate : m_candidates) appendFurther(candidate);
    if (isOfTorch(m_source.graph())) sayInTorchWords();
    markExplained(m_candidates);
    std::ranges::stable_sort(m_candidates, {}, [](const Candidate& c) {
      return std::tuple(c.hit.iteration, c.hit.order, c.explained, c.hit.rank, c.hit.precedence, c.hit.tensor,
                        c.watchpoint);
    });
    noteNonFinite();
    for (Candidate& candidate : m_candidates) add(std::move(candidate));
    std::ranges::stable_sort(m_report.firstPerRank, {}, &Hit::rank);
    addAnswers();
    return std::move(m_report);
  }

 private:
  std::vector<Rank> chosenRanks() const {
    std::vector<Rank> ranks = m_source.ranks();
    if (!m_options.ranks.empty())
      std::erase_if(ranks,
                    [&](Rank r) { return std::ranges::find(m_options.ranks, r) == m_options.ranks.end(); });
    return ranks;
  }

  /// Once over the run: every watchpoint is asked of an iteration while its rows are there.
  void walk() {
    IterationWalk walk(m_source, chosenRanks(), m_selected);
    while (!walk.done() && !m_options.cancel.cancelled()) {
      walk.advance();
      m_rows.moveTo(m_source, walk.iteration());
      const RunningWatchpoint::Moment now = momentOf(walk);
      for (RunningWatchpoint& running : m_running) running.evaluate(now);
      collect();
      if (m_options.progress) m_options.progress(walk.share());
    }
    if (m_options.cancel.cancelled()) return;
    const RunningWatchpoint::Moment end = momentOf(walk);
    for (RunningWatchpoint& running : m_running) running.finish(end);
    collect();
  }

  RunningWatchpoint::Moment momentOf(const IterationWalk& walk) {
    return {.source = m_source,
            .rows = m_rows,
            .step = m_steps.at(walk.iteration()),
            .iteration = walk.iteration(),
            .ranks = walk.ranks(),
            .allRanks = walk.selectedRanks(),
            .selected = m_selected,
            .beforeSelected = m_selected(Iteration(walk.iteration().value - 1)),
            .cancel = m_options.cancel};
  }

  void collect() {
    for (std::size_t i = 0; i < m_running.size(); ++i)
      for (Finding& finding : m_running[i].takeFindings())
        if (finding.precedence != precedence::kStructure || m_source.isWhole(finding.node, finding.tensor))
          fold({hitOf(m_running[i].watchpoint(), m_steps, std::move(finding)), i, false, {}});
  }

  /// The first iteration of each (watchpoint, severity, tensor, rank); the later ones are counted in its
  /// detail.
  void fold(Candidate candidate) {
    const Hit& hit = candidate.hit;
    const auto [place, isNew] = m_places.try_emplace(
        {candidate.watchpoint, hit.effectiveSeverity, hit.node, hit.tensor, hit.rank}, m_candidates.size());
    if (isNew) {
      m_candidates.push_back(std::move(candidate));
      return;
    }
    Candidate& known = m_candidates[place->second];
    if (candidate.hit.iteration < known.hit.iteration) std::swap(candidate.hit, known.hit);
    if (candidate.hit.iteration != known.hit.iteration)
      known.furtherIterations.push_back(candidate.hit.iteration.value);
  }

  /// What training recovered from is a fault only where something else is.
  void dropExcused() {
    const bool sick = std::ranges::any_of(m_candidates, [](const Candidate& c) {
      return c.hit.effectiveSeverity == Severity::kFault && !c.hit.excused &&
             c.hit.condition->target != Target::kRun;
    });
    if (!sick) std::erase_if(m_candidates, [](const Candidate& c) { return c.hit.excused; });
  }

  void sayInTorchWords() {
    for (Candidate& candidate : m_candidates) {
      candidate.hit.advice = inTorchWords(candidate.hit.whatNext());
      candidate.hit.detail = inTorchWords(candidate.hit.detail);
    }
  }

  static void appendFurther(Candidate& candidate) {
    std::vector<std::int64_t>& more = candidate.furtherIterations;
    if (more.empty()) return;
    std::ranges::sort(more);
    std::string& detail = candidate.hit.detail;
    if (!detail.empty()) detail += "; ";
    detail += "also in " + std::to_string(more.size()) + " more iteration" +
              (more.size() == 1 ? " (" : "s (") + firstRanges(more) + ")";
  }

  /// Ranks that differ are a symptom where one of them has a cause of its own at the same place.
  static void markExplained(std::vector<Candidate>& candidates) {
    std::map<std::pair<Iteration, std::int64_t>, int> least;
    const auto place = [](const Candidate& c) { return std::pair(c.hit.iteration, c.hit.order); };
    const auto isFault = [](const Candidate& c) {
      return c.hit.effectiveSeverity == Severity::kFault && c.hit.node.valid();
    };
    for (const Candidate& c : candidates) {
      if (!isFault(c)) continue;
      const auto [found, isNew] = least.try_emplace(place(c), c.hit.precedence);
      if (!isNew) found->second = std::min(found->second, c.hit.precedence);
    }
    for (Candidate& c : candidates)
      c.explained = isFault(c) && c.hit.condition->needsAllRanks && c.hit.precedence > least.at(place(c));
  }

  /// Sorted by now.
  void noteNonFinite() {
    for (const Candidate& c : m_candidates) {
      if (c.hit.condition->effect != Effect::kNonFinite || c.hit.effectiveSeverity != Severity::kFault)
        continue;
      m_nonFiniteOf.try_emplace(c.hit.rank, c.hit.iteration);
      if (!m_nonFinite.valid()) m_nonFinite = c.hit.iteration;
    }
  }
  Iteration nonFiniteOf(Rank rank) const {
    const auto at = m_nonFiniteOf.find(rank);
    return at == m_nonFiniteOf.end() ? Iteration() : at->second;
  }
  static bool isOutranked(const Hit& hit, Iteration nonFinite) {
    return hit.condition->effect == Effect::kSilent && nonFinite.valid() && hit.iteration < nonFinite;
  }

  void add(Candidate candidate) {
    Hit& hit = candidate.hit;
    if (hit.effectiveSeverity == Severity::kHint) {
      m_report.hints.push_back(std::move(hit));
      return;
    }
    if (!m_report.first && !isOutranked(hit, m_nonFinite)) m_report.first = hit;
    const auto sameRank = [&](const Hit& other) { return other.rank == hit.rank; };
    if (std::ranges::none_of(m_report.firstPerRank, sameRank) && !isOutranked(hit, nonFiniteOf(hit.rank)))
      m_report.firstPerRank.push_back(hit);
    m_report.hits.push_back(std::move(hit));
  }

  void addAnswers() {
    for (RunningWatchpoint& running : m_running) {
      m_report.evaluated += running.evaluated();
      for (NotEvaluable& entry : running.takeNotEvaluable()) {
        entry.condition = running.watchpoint().condition->id;
        m_report.notEvaluable.push_back(std::move(entry));
      }
    }
  }

  Source& m_source;
  const CheckOptions& m_options;
  std::function<bool(Iteration)> m_selected = [this](Iteration k) {
    return k.valid() && m_options.iterations.contains(k.value);
  };
  IterationRows m_rows;
  Steps m_steps;
  std::vector<RunningWatchpoint> m_running;
  std::map<std::tuple<std::size_t, Severity, core::NodeId, TensorId, Rank>, std::size_t> m_places;
  std::vector<Candidate> m_candidates;
  Iteration m_nonFinite;  // the first fault of that kind; invalid: there is none
  std::map<Rank, Iteration> m_nonFiniteOf;
  CheckReport m_report;
};

}  // namespace

namespace {

/// A source comes before every node, but for a constant of a foreign program that only the backward pass or
/// an update reads: nobody saw who wrote it (a collective's buffer), so it is as late as what reads it.
std::int64_t orderOfSource(Steps& steps, const core::Graph& graph, const Finding& finding) {
  const core::TensorInfo& info = graph.tensor(finding.tensor);
  const std::vector<core::NodeId> readers = graph.consumers(finding.tensor);
  if (info.role != core::TensorRole::kConstant || readers.empty()) return -1;
  const core::Node& first = graph.node(readers.front());
  if (first.isOwn() || first.phase == core::Phase::kForward) return -1;
  return steps.at(finding.iteration).time(finding.rank, first.id);
}

}  // namespace

Hit hitOf(const Watchpoint& watchpoint, Steps& steps, Finding finding) {
  Hit hit;
  static_cast<Finding&>(hit) = std::move(finding);
  hit.condition = watchpoint.condition;
  hit.effectiveSeverity = hit.severity.value_or(watchpoint.severity.value_or(watchpoint.condition->severity));
  hit.order = hit.node.valid()     ? steps.at(hit.iteration).time(hit.rank, hit.node)
              : hit.tensor.valid() ? orderOfSource(steps, steps.graph(), hit)
                                   : Hit::kAfterAll;
  return hit;
}

CheckReport check(Source& source, const std::vector<Watchpoint>& watchpoints, const CheckOptions& options) {
  const TranslatedSource read(source);
  return Check(*read, watchpoints, options).run();
}

}  // namespace msdbg::watch
