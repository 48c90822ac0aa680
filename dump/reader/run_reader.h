// RunReader: reads a run folder of format 1, committed, interrupted, damaged or still being written. Opening
// reads run.json, the graph and the journals; segments are opened when asked. The folder is never modified.
// Damage to one segment costs its own iterations only: it is listed in damage() and the rest is read. Not
// thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/base/cancel.h"
#include "core_engine/graph/graph_union.h"
#include "core_engine/tensor/batch.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/tensor/training_state.h"
#include "dump/journal.h"
#include "dump/run_info.h"
#include "dump/stage_times.h"
#include "watchpoints/source.h"

namespace msdbg::dump {

struct Damage {
  std::string where;  // "rank_0/segment_000003.h5: /tensor/network/conv1/weight:0"
  std::string what;   // "chunk 4 does not match its hash"
  core::Rank rank;
  core::IterationSet iterations;  // those that it costs
};

using watch::StatisticsRow;  // extras where they apply: see /statistics in FORMAT.md

struct IterationState {
  std::int64_t iteration = 0;
  bool complete = true;
};

struct RecordedHit {
  core::Rank rank;
  HitLine line;
};

/// Iterations that the rank's recorder had to give up.
struct RecordedGap {
  core::Rank rank;
  GapLine line;
};

/// The rank's training began again among iterations that were recorded already.
struct RecordedRestart {
  core::Rank rank;
  RestartLine line;
};

/// What RunReader::refresh() found.
struct RunGrowth {
  /// Iterations that were committed since, or lie in another segment since (merged, tensors dropped);
  /// ascending.
  std::map<core::Rank, std::vector<std::int64_t>> iterations;
  bool runInfo = false;     // run.json was replaced: how the run ended
  bool ranks = false;       // there is one more, or one has ended
  bool metrics = false;     // there are new ones
  bool newerGraph = false;  // open the run again to have it: graph() stays as it is
  bool any() const { return !iterations.empty() || runInfo || ranks || metrics || newerGraph; }
};

/// Where the value of a tensor is recorded: under /tensor, or as a part of what the iteration can be computed
/// again from.
enum class ValueOrigin { kTensor, kCheckpoint, kBatch };

struct CheckpointInterval {
  std::int64_t iterations = 0;  // from one to the next
  std::uint64_t bytes = 0;      // of one, raw
};

/// A run whose program ended before its graph was complete. kOpen: graph() is empty, ranks() are those that
/// said anything, and how they ended is known; unless the run is still going on, or its graph was lost.
enum class WithoutGraph { kRefuse, kOpen };

class RunReader {
 public:
  /// kMissing: no folder; kDamaged: not a run ("no run.json"), unreadable graph; kUnsupported: newer major
  /// version; kUnavailable: its graph is not there yet, as at the beginning of a recording.
  static core::Result<std::unique_ptr<RunReader>> open(const std::filesystem::path& folder,
                                                       WithoutGraph withoutGraph = WithoutGraph::kRefuse);
  ~RunReader();

  /// Takes in what was committed since: the new bytes of the journals, and run.json when it was replaced. A
  /// few calls of stat() when nothing was. kMissing: the folder is gone, or another run has taken its place.
  core::Result<RunGrowth> refresh();

  const std::filesystem::path& folder() const;
  const RunInfo& info() const;
  bool recording() const;            // someone holds a journal's lock
  const core::Graph& graph() const;  // of all ranks and versions: core::GraphUnion
  /// Whether it shows the node or tensor as the newest graph of the first rank has it.
  bool isOfNewestGraph(core::NodeId node, core::TensorId tensor) const;
  /// What of it the rank had in the iteration. nullptr: all of it, or nobody knows.
  const core::GraphPart* part(core::Rank rank, core::Iteration iteration) const;
  std::vector<core::Rank> ranks() const;
  std::vector<IterationState> iterations(core::Rank rank) const;  // ascending; committed ones
  const core::IterationSet& iterationSet(core::Rank rank) const;  // the same, as ranges
  std::vector<std::int64_t> incompleteIterations(core::Rank rank) const;
  const std::vector<Damage>& damage() const;                             // grows as segments are opened
  std::optional<std::string> sourceText(const std::string& file) const;  // the run's own copy
  std::vector<std::string> sourceFiles() const;

  /// Whether the value of the tensor itself (not only statistics) is stored as such, under /tensor.
  bool stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const;
  /// In how many iterations that is so, and whether in any: a look at each segment, not at each iteration.
  std::int64_t storedCount(core::Rank rank, core::TensorId tensor) const;
  bool storedAnywhere(core::Rank rank, core::TensorId tensor) const;
  /// Where tensor() has the value from: there, or a checkpoint or batch. nullopt: nowhere.
  std::optional<ValueOrigin> origin(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const;
  /// kUnavailable (with the option that stores it): not stored; kDamaged: stored but its bytes are wrong.
  core::Result<core::Tensor> tensor(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  /// Whether the iteration had statistics, and lost them to keep within --max-size.
  bool thinned(core::Rank rank, core::Iteration iteration) const;
  /// The nearest iteration that did not; the older of two. nullopt: there is none.
  std::optional<core::Iteration> nearestWhole(core::Rank rank, core::Iteration iteration) const;
  /// What thinning left of a rank's statistics.
  struct Thinning {
    struct Part {
      std::int64_t step = 0;             // every so many-th iteration has them
      std::int64_t first = 0, last = 0;  // iterations of this part
    };
    std::int64_t whole = 0;   // so many of the newest iterations have all
    std::vector<Part> parts;  // newest first; empty: nothing was thinned
    std::int64_t others = 0;  // iterations of the parts that have them besides: hits and outliers
  };
  Thinning thinning(core::Rank rank) const;
  /// kUnavailable: not computed in this iteration, or its rule says none, record or flags; or it was thinned.
  core::Result<StatisticsRow> statistics(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  /// The same, fast, for those who ask for many: the row in place, also one of flags alone (core::isFlags),
  /// or without words why there is none. It
  /// stays where it is until row(), statistics(), hash() or a value was asked for 16 more times; refresh()
  /// and verify() move it.
  struct RowView {
    const StatisticsRow* row = nullptr;
    bool damaged = false;  // else it is not recorded
    bool thinned = false;  // it was
  };
  RowView row(core::Rank rank, core::Iteration iteration, core::TensorId tensor);
  /// Of the tensor's bytes, as it was computed: the evidence for a recomputation. kUnavailable: its rule says
  /// none; or it was thinned.
  core::Result<core::Hash128> hash(core::Rank rank, core::Iteration iteration, core::TensorId tensor);

  /// Over the hashes of all tensors that the rank recorded in the iteration (IterationDigest); it stays when
  /// they are thinned. kUnavailable: of a run before format 1.2, or not recorded.
  core::Result<core::Hash128> digest(core::Rank rank, core::Iteration iteration);

  // --- what a run can be computed again from ---
  std::vector<std::int64_t> checkpoints(core::Rank rank) const;  // iterations that have one, ascending
  std::vector<std::int64_t> checkpoints() const;                 // those that every rank has
  /// The newest that every rank has and can read; `skipped` is told of each newer one that cannot be read.
  /// kUnavailable: every rank has none; kDamaged: none can be read.
  core::Result<core::Iteration> newestCheckpoint(const std::function<void(const std::string&)>& skipped);
  std::vector<std::int64_t> batches(core::Rank rank) const;
  /// Iterations that a checkpoint and an unbroken row of batches lead to on every rank, ascending.
  std::vector<std::int64_t> recomputable() const;
  /// Iterations before which the state was set from outside: they do not follow from the one before.
  core::IterationSet begunAnew(core::Rank rank) const;
  /// How often checkpoints were kept, as the rank's journal says.
  std::optional<CheckpointInterval> checkpointInterval(core::Rank rank) const;
  /// The state before the forward pass of the iteration. kUnavailable, kDamaged.
  core::Result<core::TrainingState> checkpoint(core::Rank rank, core::Iteration iteration);
  /// The inputs of the iteration, bit for bit as the graph read them, and what they were made from; the
  /// learning rate among them. kUnavailable; kDamaged: also when they do not have the hash that was recorded.
  core::Result<core::Batch> batch(core::Rank rank, core::Iteration iteration);

  /// What the rank computed in the iteration, with ids of its own. kUnavailable: no such iteration is
  /// recorded; kDamaged.
  core::Result<core::Graph> recordedGraph(core::Rank rank, core::Iteration iteration) const;
  /// Which of the rank's graphs that is; nullopt: no such iteration is recorded.
  std::optional<std::int64_t> graphVersion(core::Rank rank, core::Iteration iteration) const;
  /// Whether these hashes, by the ids of recordedGraph(), make up digest(): those that the rules of the
  /// recording kept.
  core::Result<bool> checkDigest(core::Rank rank, core::Iteration iteration,
                                 std::span<const core::Hash128> hashes);

  /// Metrics too.
  std::optional<double> scalar(core::Rank rank, core::Iteration iteration, const std::string& name);
  /// Of the newest iteration that has one.
  std::optional<double> lastScalar(core::Rank rank, const std::string& name);
  std::vector<std::string> scalarNames();
  /// What the program said after iterations, by name; nullptr: no such rank. Until the next refresh().
  const Metrics* metrics(core::Rank rank) const;
  /// What hit while the run was recorded (--on-hit), of all ranks; least (iteration, order, rank) first.
  std::vector<RecordedHit> hits() const;
  std::vector<RecordedGap> gaps() const;                 // by rank, in order
  std::vector<RecordedRestart> restarts() const;         // by rank, in order
  std::optional<RunEnd> rankEnd(core::Rank rank) const;  // from its journal
  /// Where a rank stands in a mesh of ranks; empty: nobody said.
  std::vector<MeshAxis> mesh(core::Rank rank) const;
  std::optional<RecordingTimes> timing(core::Rank rank) const;  // nullopt: it did not come to its end

  struct StorageInfo {
    std::uint64_t rawBytes = 0, storedBytes = 0, fileBytes = 0;  // raw, stored: of /tensor
    std::uint64_t stateBytes = 0, batchBytes = 0;                // of checkpoints and batches, raw
    std::int64_t segments = 0;
  };
  StorageInfo storage() const;
  /// Reads everything and checks every hash. `progress` gets (bytes done, bytes in all). Damage found is
  /// returned.
  std::vector<Damage> verify(const core::CancelToken& cancel,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

 private:
  friend class RunVerifier;  // verify.cpp
  struct Impl;
  explicit RunReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
