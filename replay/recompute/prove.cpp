#include "replay/recompute/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "replay/recompute/judge.h"
#include "replay/recompute/recomputation.h"

namespace msdbg::replay {
namespace {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

class Prover {
 public:
  Prover(Run& run, Recomputation& engine, const ProveOptions& options)
      : m_run(run), m_source(*run.recomputable()), m_engine(engine), m_options(options) {
    for (int rank = 0; rank < engine.ranks(); ++rank) {
      m_judges.push_back(std::make_unique<Judge>(run, engine.runLock(), Rank(rank), engine.threads()));
      m_checkpoints.emplace_back(m_source.checkpoints(Rank(rank)));
    }
    for (const auto& judge : m_judges) m_observers.push_back(judge.get());
  }

  Result<Proof> prove(const core::IterationSet& asked) {
    m_last = asked.back();
    for (const std::int64_t each : asked)
      if (const Status status = reach(Iteration(each)); !status.ok()) {
        if (isFatal(status.error())) return status.error();
        note(m_proof.unproved, each, status.error().message());
      }
    m_proof.otherHere = m_engine.otherHere();
    return std::move(m_proof);
  }

 private:
  static bool isFatal(const Error& error) {
    return error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kUnsupported;
  }

  // Computes and compares up to and with this iteration. An error costs this one; later ones may be reached
  // from a later checkpoint.
  Status reach(Iteration iteration) {
    MSDBG_TRY(setOut(iteration));
    while (m_engine.next() <= iteration) {
      const Iteration now = m_engine.next();
      if (const Status status = judge(now); !status.ok()) return block(now, status.error());
      if (m_differs) return differing(now, iteration);
    }
    return Ok{};
  }

  // The ranks are at an iteration from which this one can be reached: where they are, or at a checkpoint.
  Status setOut(Iteration iteration) {
    for (;;) {
      MSDBG_ASSIGN(const Iteration checkpoint, m_engine.checkpointFor(iteration));
      if (m_blocked && checkpoint.value <= m_blocked->first)
        return Error(ErrorCode::kUnavailable, m_blocked->second);
      if (m_running && m_engine.leadsOn(checkpoint)) return Ok{};
      m_ahead.reset();
      m_otherGraphs = true;
      m_running = false;
      const Status begun = m_engine.begin(checkpoint);
      if (!begun.ok() && begun.error().code() == ErrorCode::kDamaged) continue;  // then an older one
      if (!begun.ok()) return Error(ErrorCode::kUnsupported, begun.error().message());
      m_from = checkpoint;
      m_running = true;
      return Ok{};
    }
  }

  // Nothing that a checkpoint up to there leads to can be reached.
  Error block(Iteration at, Error error) {
    m_running = false;
    m_blocked = {at.value, error.message()};
    return error;
  }

  // What follows has other values too. Where what training carried differs already as the iteration begins,
  // and a checkpoint of it is there, the training went on from that: so do we.
  Status differing(Iteration now, Iteration asked) {
    const Iteration lost(m_stateDiffers && m_from < now ? now.value - 1 : now.value);
    const Error why = block(
        lost, Error(ErrorCode::kUnavailable,
                    fmt::format("iteration {} differs, so all that follows does, up to the next checkpoint",
                                now.value)));
    if (m_options.again && m_proof.again == Again::kNotAsked) MSDBG_TRY(computeAgain(m_from, now));
    m_running = false;
    return now == asked ? Status(Ok{}) : Status(why);
  }

  static void note(std::vector<Proof::Unproved>& where, std::int64_t iteration, const std::string& why) {
    if (where.empty() || where.back().why != why) where.push_back({{}, why});
    where.back().iterations.add({iteration, iteration});
  }

  void report() {
    if (m_options.progress)
      m_options.progress(m_done, std::max(m_done + 1, m_done + m_last - m_engine.next().value + 1));
  }

  Result<std::vector<RecordedHashes>> recordedOf(Iteration iteration) {
    std::vector<RecordedHashes> all;
    const std::lock_guard lock(m_engine.runLock());
    for (int rank = 0; rank < m_engine.ranks(); ++rank) {
      MSDBG_ASSIGN(RecordedHashes one,
                   RecordedHashes::read(m_run, Rank(rank), iteration,
                                        m_engine.rank(Rank(rank)).graph().tensors().size()));
      // Where it began the values are those that were read.
      if (iteration != m_from && m_checkpoints[static_cast<std::size_t>(rank)].contains(iteration.value))
        one.addCheckpoint(m_run, Rank(rank), iteration);
      all.push_back(std::move(one));
    }
    return all;
  }

  Status judge(Iteration iteration) {
    report();
    const bool otherGraph =
        std::exchange(m_otherGraphs, false) || !sameGraphs(Iteration(iteration.value - 1), iteration);
    MSDBG_TRY(m_engine.prepare(iteration));
    std::vector<RecordedHashes> recorded;
    if (m_ahead && m_ahead->first == iteration && !otherGraph) {
      recorded = std::move(m_ahead->second);
    } else {
      MSDBG_ASSIGN(recorded, recordedOf(iteration));
    }
    m_ahead.reset();
    for (std::size_t rank = 0; rank < m_judges.size(); ++rank)
      m_judges[rank]->expect(m_engine.rank(Rank(static_cast<std::int64_t>(rank))).graph(), otherGraph,
                             std::move(recorded[rank]));
    const auto readAhead = [&] {
      const Iteration next(iteration.value + 1);
      if (next.value > m_last || !sameGraphs(iteration, next)) return;
      if (auto ahead = recordedOf(next); ahead.ok()) m_ahead.emplace(next, std::move(*ahead));
    };
    MSDBG_TRY(m_engine.step(m_observers, {}, readAhead));
    return collect(iteration);
  }

  bool sameGraphs(Iteration a, Iteration b) const {
    for (int rank = 0; rank < m_engine.ranks(); ++rank)
      if (!m_source.sameGraph(Rank(rank), a, b)) return false;
    return true;
  }

  Status collect(Iteration iteration) {
    ++m_done;
    m_differs = false;
    std::vector<Mismatch> found;
    for (std::size_t rank = 0; rank < m_judges.size(); ++rank) {
      const Judge& judge = *m_judges[rank];
      const Rank at(static_cast<std::int64_t>(rank));
      for (const Error& failure : judge.failures()) note(m_proof.damaged, iteration.value, failure.message());
      m_proof.tensors += judge.compared();
      m_proof.bytes += judge.bytes();
      m_proof.values += judge.values();
      m_proof.states += judge.states();
      MSDBG_TRY(collectDigest(iteration, judge, static_cast<int>(rank)));
      bool first = true;
      for (const Judge::Seen& seen : judge.different()) {
        Mismatch mismatch = mismatchOf(judge, seen, m_engine.rank(at), iteration, at);
        mismatch.origin = seen.origin && !cameFromElsewhere(judge, seen.tensor);
        if (std::exchange(first, false) || mismatch.origin) found.push_back(std::move(mismatch));
      }
    }
    if (!found.empty()) m_differs = true;
    m_stateDiffers = std::ranges::any_of(found, [](const Mismatch& each) { return each.order < 0; });
    if (m_differs) m_proof.different.add({iteration.value, iteration.value});
    m_proof.computed.add({iteration.value, iteration.value});
    std::ranges::sort(found, {}, [](const Mismatch& m) { return std::tuple(m.order, m.rank, m.tensor); });
    for (Mismatch& each : found)
      if (m_proof.mismatches.size() < kMostMismatches) m_proof.mismatches.push_back(std::move(each));
    return Ok{};
  }

  // A collective read what the other ranks gave it.
  bool cameFromElsewhere(const Judge& judge, core::TensorId tensor) const {
    const core::Graph& graph = judge.graph();
    const core::NodeId producer = graph.tensor(tensor).producer;
    if (!producer.valid() || graph.node(producer).phase != core::Phase::kCollective) return false;
    const core::Node& node = graph.node(producer);
    return std::ranges::any_of(m_judges, [&](const auto& other) {
      const auto theirs = other->graph().findNode(node.name);
      return theirs && std::ranges::any_of(other->graph().node(*theirs).inputs,
                                           [&](core::TensorId input) { return other->differs(input); });
    });
  }

  Status collectDigest(Iteration iteration, const Judge& judge, int rank) {
    if (!judge.recorded().digestOnly) return Ok{};
    const Result<bool> same = m_source.checkDigest(Rank(rank), iteration, judge.hashes());
    if (!same.ok()) return same.error().code() == ErrorCode::kUnavailable ? Status(Ok{}) : same.error();
    ++m_proof.digests;
    if (*same) return Ok{};
    ++m_proof.wrongDigests;
    m_differs = true;
    return Ok{};
  }

  // The same way once more, and the hashes of the iteration that differed.
  Status computeAgain(Iteration checkpoint, Iteration iteration) {
    std::vector<std::vector<core::Hash128>> before;
    for (const auto& judge : m_judges) before.push_back(judge->hashes());
    MSDBG_TRY(m_engine.begin(checkpoint));
    for (std::int64_t i = checkpoint.value; i <= iteration.value; ++i) {
      report();
      ++m_done;
      if (i < iteration.value) {
        MSDBG_TRY(m_engine.step({}));
        continue;
      }
      MSDBG_TRY(m_engine.prepare(iteration));
      for (std::size_t rank = 0; rank < m_judges.size(); ++rank) {
        const core::Graph& graph = m_engine.rank(Rank(static_cast<std::int64_t>(rank))).graph();
        const std::size_t tensors = graph.tensors().size();
        RecordedHashes nothing;
        nothing.hashes.resize(tensors);
        nothing.stored.resize(tensors);
        nothing.nonFinite.resize(tensors);
        m_judges[rank]->expect(graph, true, std::move(nothing));
      }
      MSDBG_TRY(m_engine.step(m_observers));
    }
    bool same = true;
    for (std::size_t rank = 0; rank < m_judges.size(); ++rank)
      same = same && m_judges[rank]->hashes() == before[rank];
    m_proof.again = same ? Again::kSame : Again::kOther;
    return Ok{};
  }

  Run& m_run;
  Recomputable& m_source;
  Recomputation& m_engine;
  const ProveOptions& m_options;
  std::vector<std::unique_ptr<Judge>> m_judges;
  std::vector<core::Observer*> m_observers;
  std::vector<core::IterationSet> m_checkpoints;  // of each rank
  std::optional<std::pair<Iteration, std::vector<RecordedHashes>>> m_ahead;
  Proof m_proof;
  bool m_running = false;  // the ranks are where the last iteration left them
  Iteration m_from;        // the checkpoint that they began at
  bool m_differs = false, m_otherGraphs = true;
  bool m_stateDiffers = false;  // as the iteration began
  std::optional<std::pair<std::int64_t, std::string>> m_blocked;
  std::int64_t m_done = 0, m_last = 0;
};

}  // namespace

Result<Proof> prove(Run& run, const core::IterationSet& iterations, const ProveOptions& options) {
  if (iterations.empty()) return Proof();
  MSDBG_ASSIGN(const std::unique_ptr<Recomputation> engine, Recomputation::create(run, options.cancel));
  return Prover(run, *engine, options).prove(iterations);
}

}  // namespace msdbg::replay
