#include "replay/formats/msdbg/failures.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "dump/end_text.h"
#include "replay/formats/msdbg/died_at.h"

namespace msdbg::replay {
namespace {

using core::Iteration;
using core::Rank;
using dump::RunEnd;
using RunFailure = watch::Source::RunFailure;

bool isFailure(const RunEnd& end) { return end.state == "failed" || end.state == "killed"; }

class Failures {
 public:
  explicit Failures(const dump::RunReader& run) : m_run(run) {}

  std::vector<RunFailure> find() {
    if (m_run.recording()) return {};
    const RunEnd& end = m_run.info().end;
    if (isFailure(end)) add(end, end.rank ? Rank(*end.rank) : firstRank(), end.message);
    for (const Rank rank : m_run.ranks()) addRank(rank);
    if (isFailure(end) && end.rank && !dump::lostAnother(end.message)) foldVictims(Rank(*end.rank));
    std::ranges::stable_sort(m_found, {}, &RunFailure::rank);
    return std::move(m_found);
  }

 private:
  Rank firstRank() const { return m_run.ranks().empty() ? Rank(0) : m_run.ranks().front(); }

  // One that blames another says so by that one's rank.
  void addRank(Rank rank) {
    const std::optional<RunEnd> own = m_run.rankEnd(rank);
    if (own && isFailure(*own) && own->rank == rank.value)
      add(*own, rank, dump::failureText(*own, rank, m_run.info().ranks));
    if (!own && m_run.info().end.state == "running") addSilent(rank);
  }

  // Ranks that failed since they lost the one that ended the run are told with it.
  void foldVictims(Rank cause) {
    std::vector<std::int64_t> victims;
    std::erase_if(m_found, [&](const RunFailure& failure) {
      const bool victim = failure.rank != cause && dump::lostAnother(failure.text);
      if (victim) victims.push_back(failure.rank.value);
      return victim;
    });
    const auto known = std::ranges::find(m_found, cause, &RunFailure::rank);
    if (victims.empty() || known == m_found.end()) return;
    known->text += std::string("; then ") + (victims.size() == 1 ? "rank " : "ranks ") +
                   core::formatRanges(victims) + " failed, which lost it";
  }

  // Killed so that it could not even say so, on a run that nobody else looked after.
  void addSilent(Rank rank) {
    const std::vector<dump::IterationState> states = m_run.iterations(rank);
    const std::string when = states.empty()
                                 ? "before its first iteration was recorded"
                                 : "in or after iteration " + std::to_string(states.back().iteration);
    add(RunEnd(), rank,
        dump::rankName(rank, m_run.info().ranks) + " ended without a word " + when +
            ": it was killed (by signal 9, as when memory runs out), or its machine went down");
  }

  void add(const RunEnd& end, Rank rank, const std::string& text) {
    if (std::ranges::count(m_found, rank, &RunFailure::rank) > 0) return;
    RunFailure failure{rank, {}, {}, text.empty() ? dump::failureText(end, rank, m_run.info().ranks) : text};
    if (end.state != "failed" || end.signal) failure.text += diedAtText(m_run.folder(), rank);
    if (end.iteration) failure.iteration = Iteration(*end.iteration);
    failure.text += lostText(rank, failure.iteration);
    if (const auto node = m_run.graph().findNode(end.node); node && end.iteration) failure.node = *node;
    m_found.push_back(std::move(failure));
  }

  // What a killed rank had computed and not yet written.
  std::string lostText(Rank rank, Iteration at) const {
    const std::vector<dump::IterationState> states = m_run.iterations(rank);
    if (!at.valid() || states.empty() || states.back().iteration >= at.value - 1) return {};
    return "; the last iteration that was written is " + std::to_string(states.back().iteration);
  }

  const dump::RunReader& m_run;
  std::vector<RunFailure> m_found;
};

}  // namespace

std::vector<RunFailure> failuresOf(const dump::RunReader& run) { return Failures(run).find(); }

}  // namespace msdbg::replay
