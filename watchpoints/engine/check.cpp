#include "watchpoints/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace msdbg::watch {
namespace {

using core::Iteration;
using core::Rank;
using core::TensorId;

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
      : m_source(source), m_watchpoints(watchpoints), m_options(options), m_ranks(chosenRanks()) {}

  CheckReport run() {
    for (std::size_t i = 0; i < m_watchpoints.size() && !m_options.cancel.cancelled(); ++i) evaluate(i);
    m_report.cancelled = m_options.cancel.cancelled();
    std::vector<Candidate> candidates = onePerTensor();
    markExplained(candidates);
    std::ranges::stable_sort(candidates, {}, [](const Candidate& c) {
      return std::tuple(c.hit.iteration, c.hit.order, c.explained, c.hit.rank, c.hit.precedence, c.hit.tensor,
                        c.watchpoint);
    });
    for (Candidate& candidate : candidates) add(std::move(candidate));
    std::ranges::stable_sort(m_report.firstPerRank, {}, &Hit::rank);
    foldNotEvaluable();
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

  void evaluate(std::size_t index) {
    const Watchpoint& watchpoint = m_watchpoints[index];
    std::vector<Finding> findings;
    std::vector<NotEvaluable> notEvaluable;
    std::any memory;
    EvaluationContext context{m_source,
                              watchpoint.parameters,
                              watchpoint.recommended,
                              m_ranks,
                              [this](Iteration k) { return m_options.iterations.contains(k.value); },
                              m_options.cancel,
                              findings,
                              notEvaluable,
                              m_report.evaluated,
                              memory,
                              [this, index](double share) { progress(index, share); }};
    watchpoint.condition->evaluate(context);
    for (Finding& finding : findings)
      m_candidates.push_back({hitOf(watchpoint, std::move(finding)), index, false, {}});
    for (NotEvaluable& entry : notEvaluable) {
      entry.condition = watchpoint.condition->id;
      m_report.notEvaluable.push_back(std::move(entry));
    }
    progress(index + 1, 0);
  }

  void progress(std::size_t done, double share) const {
    if (m_options.progress)
      m_options.progress((static_cast<double>(done) + share) / static_cast<double>(m_watchpoints.size()));
  }

  /// The first iteration of each (watchpoint, severity, tensor, rank); the later ones are counted in its
  /// detail.
  std::vector<Candidate> onePerTensor() {
    std::ranges::stable_sort(m_candidates, {}, [](const Candidate& c) { return c.hit.iteration; });
    std::map<std::tuple<std::size_t, Severity, TensorId, Rank>, std::size_t> seen;
    std::vector<Candidate> kept;
    for (Candidate& candidate : m_candidates) {
      const Hit& hit = candidate.hit;
      const auto [place, isNew] =
          seen.try_emplace({candidate.watchpoint, hit.effectiveSeverity, hit.tensor, hit.rank}, kept.size());
      if (isNew)
        kept.push_back(std::move(candidate));
      else
        kept[place->second].furtherIterations.push_back(hit.iteration.value);
    }
    for (Candidate& candidate : kept) appendFurther(candidate);
    return kept;
  }

  static void appendFurther(Candidate& candidate) {
    const std::vector<std::int64_t>& more = candidate.furtherIterations;
    if (more.empty()) return;
    std::string& detail = candidate.hit.detail;
    if (!detail.empty()) detail += "; ";
    detail += "also in " + std::to_string(more.size()) + " more iteration" +
              (more.size() == 1 ? " (" : "s (") + core::formatRanges(more) + ")";
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

  void add(Candidate candidate) {
    Hit& hit = candidate.hit;
    if (hit.effectiveSeverity == Severity::kHint) {
      m_report.hints.push_back(std::move(hit));
      return;
    }
    if (!m_report.first) m_report.first = hit;
    const auto sameRank = [&](const Hit& other) { return other.rank == hit.rank; };
    if (std::ranges::none_of(m_report.firstPerRank, sameRank)) m_report.firstPerRank.push_back(hit);
    m_report.hits.push_back(std::move(hit));
  }

  /// One entry for each (condition, reason, tensor); a field that is not the same in all of them becomes
  /// invalid.
  void foldNotEvaluable() {
    std::map<std::tuple<std::string, std::string, TensorId>, std::size_t> seen;
    std::vector<NotEvaluable> folded;
    for (NotEvaluable& entry : m_report.notEvaluable) {
      const auto [place, isNew] =
          seen.try_emplace({entry.condition, entry.reason, entry.tensor}, folded.size());
      if (isNew) {
        folded.push_back(std::move(entry));
        continue;
      }
      NotEvaluable& into = folded[place->second];
      into.count += entry.count;
      if (into.iteration != entry.iteration) into.iteration = {};
      if (into.rank != entry.rank) into.rank = {};
      if (into.detail != entry.detail) into.detail.clear();
    }
    m_report.notEvaluable = std::move(folded);
  }

  Source& m_source;
  const std::vector<Watchpoint>& m_watchpoints;
  const CheckOptions& m_options;
  std::vector<Rank> m_ranks;
  std::vector<Candidate> m_candidates;
  CheckReport m_report;
};

}  // namespace

Hit hitOf(const Watchpoint& watchpoint, Finding finding) {
  Hit hit;
  static_cast<Finding&>(hit) = std::move(finding);
  hit.condition = watchpoint.condition;
  hit.effectiveSeverity = hit.severity.value_or(watchpoint.severity.value_or(watchpoint.condition->severity));
  hit.order = hit.node.valid() || hit.tensor.valid() ? hit.node.value : Hit::kAfterAll;
  return hit;
}

CheckReport check(Source& source, const std::vector<Watchpoint>& watchpoints, const CheckOptions& options) {
  return Check(source, watchpoints, options).run();
}

}  // namespace msdbg::watch
