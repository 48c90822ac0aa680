#include "replay/recompute/walk.h"

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

// What was recorded at a newer checkpoint is as it was, whatever differs before it.
bool Walk::goesOn(Iteration checkpoint, Iteration iteration) const {
  const bool better = m_since && checkpoint > m_since->iteration;
  return m_running && m_engine->leadsOn(checkpoint) && m_engine->next() <= iteration && !better;
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
    m_judges[i]->expect(graph, true, std::move(recorded));
    ready(rank, *m_judges[i], iteration);
  }
  MSDBG_TRY(m_engine->step(m_observers));
  noteDifference(iteration);
  return Ok{};
}

void Walk::noteDifference(Iteration iteration) {
  if (m_since) return;
  for (std::size_t i = 0; i < m_judges.size(); ++i) {
    const Judge& judge = *m_judges[i];
    const Rank rank(static_cast<std::int64_t>(i));
    if (judge.different().empty()) continue;
    const Mismatch first =
        mismatchOf(judge, judge.different().front(), m_engine->rank(rank), iteration, rank);
    if (!m_since || first.order < m_since->order) m_since = first;
  }
  if (m_since && m_differences.size() < kMostMismatches) m_differences.push_back(*m_since);
}

}  // namespace msdbg::replay
