// Recomputation: all ranks of a run, in step, from one of its checkpoints on. The run is read on the caller's
// thread, each rank computes on one of its own; used from one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core_engine/base/cancel.h"
#include "core_engine/ops/communicator.h"
#include "replay/recompute/rank_engine.h"
#include "replay/recompute/rank_threads.h"
#include "replay/recompute_way.h"

namespace msdbg::replay {

class Recomputation {
 public:
  /// Takes the run's threads, seed and passes. kUnsupported: a run of this kind cannot be computed again.
  static core::Result<std::unique_ptr<Recomputation>> create(
      Run& run, core::CancelToken cancel, core::BackendKind backend = core::BackendKind::kFast);
  ~Recomputation();

  /// Where to begin for an iteration: RecomputeWays::checkpointFor(), without those that cannot be read.
  core::Result<core::Iteration> checkpointFor(core::Iteration iteration) const;

  /// All ranks are as they were before that iteration. kDamaged: a rank's cannot be read; checkpointFor()
  /// names an older one from then on. kUnavailable also where memory does not suffice: so much is needed, so
  /// much is free.
  core::Status begin(core::Iteration checkpoint);
  /// The same from states (by rank) that came from elsewhere.
  core::Status begin(core::Iteration iteration, const std::vector<core::TrainingState>& states);
  core::Iteration next() const { return m_next; }
  /// Whether they can go on to next() from where they are, on the way from that checkpoint: not where its
  /// state was set from outside.
  bool leadsOn(core::Iteration checkpoint) const {
    return checkpoint < m_next || (checkpoint == m_next && !m_ways.beginsAnew(m_next));
  }
  /// Checkpoints that begin() found damaged so far, and why they cannot be read.
  const std::map<core::Iteration, std::string>& damagedCheckpoints() const { return m_damaged; }
  /// Ranks have the graphs of that iteration: step() does it by itself.
  core::Status prepare(core::Iteration iteration) { return useGraphs(iteration); }

  /// Computes next(). `observers`: by rank, or none; each is called on its rank's thread. `meanwhile` runs on
  /// the caller's. kUnavailable, kDamaged: it was not recorded; kCancelled. After an error, and where the
  /// detour stops early, begin() comes first.
  core::Status step(const std::vector<core::Observer*>& observers, const core::Detour& detour = {},
                    const std::function<void()>& meanwhile = {});
  /// The same from batches that came from elsewhere, each rank with a detour of its own.
  core::Status step(const std::vector<core::Batch>& batches, const std::vector<core::Observer*>& observers,
                    std::vector<core::Detour> detours);
  /// From now on a detour may replace what these nodes compute, by rank.
  core::Status replaceable(const std::vector<std::vector<core::NodeId>>& nodes);

  const RankEngine& rank(core::Rank rank) const { return *m_ranks.at(rank.index()); }
  double secondsAnIteration() const { return m_ways.secondsAnIteration(); }
  int ranks() const { return static_cast<int>(m_ranks.size()); }
  int threads() const { return m_threads; }  // of each rank
  /// Held by who reads the run while ranks compute.
  std::mutex& runLock() { return m_runLock; }
  /// environmentDifferences(), and kernels that are others than the recorded ones.
  std::vector<std::string> otherHere() const;
  std::size_t bytes() const;  // of the tensors of all ranks

 private:
  struct Given {  // what a rank is given in an iteration
    core::Result<core::Batch> batch = core::Error(core::ErrorCode::kInternal, "not read");
  };
  Recomputation(Run& run, Recomputable& source) : m_run(run), m_source(source), m_ways(run) {}

  core::Status makeRanks();
  core::Status checkMemory() const;
  core::Status useGraphs(core::Iteration iteration);
  std::vector<Given> read(core::Iteration iteration);
  core::Status compute(const std::vector<core::Batch>& batches, const std::vector<core::Observer*>& observers,
                       std::vector<core::Detour> detours, const std::function<void()>& meanwhile);
  core::Status onEachRank(const std::function<core::Status(int)>& work,
                          const std::function<void()>& meanwhile = {});

  Run& m_run;
  Recomputable& m_source;
  RecomputeWays m_ways;
  core::CancelToken m_cancel;
  core::BackendKind m_backend = core::BackendKind::kFast;
  int m_threads = 1;
  bool m_broken = false;  // a rank failed: others may have been left waiting for it
  std::vector<std::unique_ptr<core::Communicator>> m_communicators;  // outlive the engines
  std::vector<std::unique_ptr<RankEngine>> m_ranks;
  core::Iteration m_next;
  std::optional<core::Iteration> m_graphsOf;           // the iteration whose graphs the ranks have
  std::map<std::int64_t, std::vector<Given>> m_ahead;  // read while the iteration before was computed
  std::map<core::Iteration, std::string> m_damaged;    // checkpoints that cannot be read, and why
  std::mutex m_runLock;
  std::unique_ptr<RankThreads> m_rankThreads;  // last: ends first
};

}  // namespace msdbg::replay
