#include "replay/recompute/walk.h"

#include <set>

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

Result<std::unique_ptr<Walk>> Walk::create(Run& run, core::CancelToken cancel, const MakeJudge& make) {
  std::unique_ptr<Walk> walk(new Walk(run));
  MSDBG_ASSIGN(walk->m_engine, Recomputation::create(run, std::move(cancel)));
  for (int rank = 0; rank < walk->m_engine->ranks(); ++rank)
    walk->m_judges.push_back(make(walk->m_engine->runLock(), Rank(rank), walk->m_engine->threads()));
  for (const auto& judge : walk->m_judges) walk->m_observers.push_back(judge.get());
  return walk;
}

// Past no checkpoint: what was recorded there is as it was, whatever was computed before it.
bool Walk::goesOn(Iteration checkpoint, Iteration iteration) const {
  return m_running && m_engine->leadsOn(checkpoint) && m_engine->next() <= iteration && checkpoint <= m_begun;
}

Result<Iteration> Walk::startFor(Iteration iteration) const {
  MSDBG_ASSIGN(const Iteration checkpoint, m_engine->checkpointFor(iteration));
  return goesOn(checkpoint, iteration) ? m_engine->next() : checkpoint;
}

Status Walk::setOut(Iteration iteration) {
  for (;;) {
    MSDBG_ASSIGN(const Iteration checkpoint, m_engine->checkpointFor(iteration));
    if (goesOn(checkpoint, iteration)) return Ok{};
    m_since.reset();
    m_begun = checkpoint;
    const Status begun = m_engine->begin(checkpoint);
    m_running = begun.ok();
    if (begun.ok()) return Ok{};
    if (begun.error().code() == ErrorCode::kDamaged) continue;  // from an older one
    if (begun.error().code() != ErrorCode::kCancelled) m_hopeless = begun.error();
    return begun;
  }
}

Status Walk::to(Iteration iteration, const Ready& ready, const std::function<void(Iteration)>& done) {
  if (m_hopeless) return *m_hopeless;
  if (const auto failed = m_failed.find(iteration.value); failed != m_failed.end()) return failed->second;
  Status status = setOut(iteration);
  m_from = m_engine->next();
  while (status.ok() && m_engine->next() <= iteration) {
    const Iteration now = m_engine->next();
    status = step(now, ready);
    if (!status.ok())
      m_running = false;
    else
      done(now);
  }
  if (!status.ok() && status.error().code() != ErrorCode::kCancelled)
    m_failed.emplace(iteration.value, status.error());
  return status;
}

Status Walk::step(Iteration iteration, const Ready& ready) {
  MSDBG_TRY(m_engine->prepare(iteration));
  for (std::size_t i = 0; i < m_judges.size(); ++i) {
    const Rank rank(static_cast<std::int64_t>(i));
    const core::Graph& graph = m_engine->rank(rank).graph();
    MSDBG_ASSIGN(RecordedHashes recorded,
                 RecordedHashes::read(m_run, rank, iteration, graph.tensors().size()));
    recorded.stored.assign(graph.tensors().size(), false);  // the hash is evidence enough
    m_judges[i]->expect(graph, true, std::move(recorded), m_since.has_value());
    ready(rank, *m_judges[i], iteration);
  }
  MSDBG_TRY(m_engine->step(m_observers));
  MSDBG_TRY(noteDifference(iteration));
  if (m_since) spreadDifferences();
  return Ok{};
}

// What ranks were given by others that differ.
void Walk::spreadDifferences() {
  std::set<core::TensorId> given;  // by the run's ids
  for (bool more = m_judges.size() > 1; more;) {
    more = false;
    for (const auto& judge : m_judges)
      for (const core::TensorId id : judge->collectivesOfDiffering()) more |= given.insert(id).second;
    if (more)
      for (const auto& judge : m_judges) judge->markDiffering(given);
  }
}

Status Walk::noteDifference(Iteration iteration) {
  if (m_since) return Ok{};
  for (std::size_t i = 0; i < m_judges.size(); ++i) {
    const Judge& judge = *m_judges[i];
    const Rank rank(static_cast<std::int64_t>(i));
    if (judge.different().empty()) continue;
    const Mismatch first =
        mismatchOf(judge, judge.different().front(), m_engine->rank(rank), iteration, rank);
    if (!m_since || first.order < m_since->order) m_since = first;
  }
  if (!m_since) MSDBG_TRY(noteDigest(iteration));
  // A loss that is another says nothing of what it was made of.
  const bool byLoss = m_since && !m_since->hasHash() && m_since->tensor.valid() &&
                      m_run.graph().tensor(m_since->tensor).role == core::TensorRole::kLoss;
  if (byLoss) m_judges[m_since->rank.index()]->allMayDiffer();
  if (m_since && m_differences.size() < kMostMismatches) m_differences.push_back(*m_since);
  return Ok{};
}

// Of a thinned iteration one digest of all hashes is left: it tells that something differs, not what.
Status Walk::noteDigest(Iteration iteration) {
  for (std::size_t i = 0; i < m_judges.size(); ++i) {
    Judge& judge = *m_judges[i];
    if (!judge.recorded().digestOnly) continue;
    const Rank rank(static_cast<std::int64_t>(i));
    const Result<bool> same = m_run.recomputable()->checkDigest(rank, iteration, judge.hashes());
    if (!same.ok() && same.error().code() != ErrorCode::kUnavailable) return same.error();
    if (!same.ok() || *same) continue;
    if (!m_since) {
      m_since.emplace();
      m_since->iteration = iteration;
      m_since->rank = rank;
    }
    judge.allMayDiffer();
  }
  return Ok{};
}

}  // namespace msdbg::replay
