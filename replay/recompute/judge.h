// Judge: watches one rank compute an iteration and holds each tensor against its recorded hash, and against
// its recorded value where there is one. Called on the rank's thread; prepared and asked between iterations.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "core_engine/graph/graph_union.h"
#include "core_engine/runtime/observer.h"
#include "replay/proof.h"
#include "replay/recompute/rank_engine.h"
#include "replay/run.h"

namespace msdbg::replay {

/// What was recorded of one rank's iteration, by the ids of its graph.
struct RecordedHashes {
  std::vector<core::Hash128> hashes;  // 0: none
  std::vector<bool> stored;           // whether the value is
  std::vector<bool> inCheckpoint;     // whether it is there; empty: nobody asked, see addCheckpoint()
  struct NonFinite {
    std::int64_t nan = 0, posInf = 0, negInf = 0;
    bool operator==(const NonFinite&) const = default;
  };
  std::vector<std::optional<NonFinite>> nonFinite;  // of what has no hash
  std::optional<double> loss;                       // where its tensor has none
  const core::GraphPart* part = nullptr;            // nullptr: ids are the run's
  bool digestOnly = false;

  /// Of a graph with so many tensors. An error: the row is there and cannot be read.
  static core::Result<RecordedHashes> read(Run& run, core::Rank rank, core::Iteration iteration,
                                           std::size_t tensors);
  /// The iteration's checkpoint is evidence too: for who did not begin there, but came there.
  void addCheckpoint(Run& run, core::Rank rank, core::Iteration iteration);
  bool holdsValue(core::TensorId local) const {
    return stored[local.index()] || (!inCheckpoint.empty() && inCheckpoint[local.index()]);
  }
  core::TensorId runId(core::TensorId local) const { return part ? part->tensorAt(local.value) : local; }
};

class Judge : public core::Observer {
 public:
  /// `lock` guards the run, of which stored values are read.
  Judge(Run& run, std::mutex& lock, core::Rank rank, int threads)
      : m_run(run), m_lock(lock), m_rank(rank), m_threads(threads) {}

  /// Before an iteration. A graph that is another one than before: nothing that was seen of it counts.
  /// `stateDiffers`: what training carries may be otherwise than recorded, where no hash says that it is not.
  void expect(const core::Graph& graph, bool otherGraph, RecordedHashes recorded, bool stateDiffers = false);

  struct Seen {
    core::TensorId tensor;  // of the rank's graph
    core::Hash128 computed;
    std::optional<BitDifference> values;
    bool origin = false;
  };
  const core::Graph& graph() const { return *m_graph; }
  /// Of the iteration: what differs, in the order of the graph.
  const std::vector<Seen>& different() const { return m_different; }
  const std::vector<core::Hash128>& hashes() const { return m_hashes; }  // computed, by local id
  /// From what was recorded of it, or, where that is nothing, of what it was made from.
  bool differs(core::TensorId tensor) const { return m_differs[tensor.index()]; }
  /// What collectives made of something that differs here, by the run's ids: other ranks have it too.
  std::vector<core::TensorId> collectivesOfDiffering() const;
  /// These differ, by the run's ids, and what follows from them, where nothing was recorded of it.
  void markDiffering(const std::set<core::TensorId>& given);
  void allMayDiffer();  // of which no hash was recorded, what the batch brings excepted
  const RecordedHashes& recorded() const { return m_recorded; }
  std::int64_t compared() const { return m_compared; }
  std::uint64_t bytes() const { return m_bytes; }
  std::int64_t values() const { return m_values; }
  std::int64_t states() const { return m_states; }                         // values of the checkpoint
  const std::vector<core::Error>& failures() const { return m_failures; }  // of stored values: damage

  void graphReady(const core::Graph&) override {}
  void iterationStarted(core::Iteration) override {}
  void tensorReady(const core::TensorReady& ready) override;
  core::UpdateWish updateWish(core::Iteration, core::TensorId) override { return core::UpdateWish::kNothing; }
  void iterationFinished(core::Iteration, const core::Scalars&) override {}

 protected:
  virtual core::Hash128 hashOf(const core::TensorReady& ready) {
    return core::hashTensor(ready.value, m_threads);
  }
  int threads() const { return m_threads; }

 private:
  std::optional<BitDifference> compareValue(const core::TensorReady& ready, bool sameHash);
  core::Error wrongValue(const core::TensorReady& ready, const std::string& what) const;
  bool inputsEqual(core::TensorId tensor) const;
  /// Of what has no hash: whether what else was recorded of it is otherwise.
  bool evidenceDiffers(const core::TensorReady& ready) const;
  bool isUnrecorded(core::TensorId tensor) const {
    return m_recorded.hashes[tensor.index()] == core::Hash128();
  }

  Run& m_run;
  std::mutex& m_lock;
  core::Rank m_rank;
  int m_threads;
  const core::Graph* m_graph = nullptr;
  RecordedHashes m_recorded;
  bool m_stateDiffers = false;
  std::vector<core::Hash128> m_hashes;
  std::vector<bool> m_differs;
  std::vector<Seen> m_different;
  std::int64_t m_compared = 0, m_values = 0, m_states = 0;
  std::uint64_t m_bytes = 0;
  std::vector<core::Error> m_failures;
};

/// What it saw, with the ids of the run.
Mismatch mismatchOf(const Judge& judge, const Judge::Seen& seen, const RankEngine& engine,
                    core::Iteration iteration, core::Rank rank);

}  // namespace msdbg::replay
