// Run: a recorded run behind one interface, whoever wrote it: msdbg, and what replay/formats has besides. It
// is the watchpoints' Source and what every command and panel asks. What only some runs can do (go on from a
// checkpoint, check every byte, grow) is asked for: nullptr where a run cannot. Not thread-safe; one replay
// thread owns it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "core_engine/base/cancel.h"
#include "replay/run_types.h"
#include "watchpoints/source.h"

namespace msdbg::core {
struct Batch;
struct TrainingState;
}  // namespace msdbg::core

namespace msdbg::replay {

/// What iterations can be computed again from.
class Recomputable {
 public:
  virtual ~Recomputable() = default;
  virtual std::vector<std::int64_t> checkpoints(core::Rank rank) const = 0;  // iterations, ascending
  virtual std::vector<std::int64_t> batches(core::Rank rank) const = 0;      // the same
  /// Iterations that a checkpoint and an unbroken row of batches lead to on every rank, ascending.
  virtual std::vector<std::int64_t> recomputableIterations() const = 0;
  /// Iterations before which the state was set from outside: they do not follow from the one before.
  virtual core::IterationSet begunAnew(core::Rank rank) const = 0;
  /// How often checkpoints were kept, as the recorder says.
  virtual std::optional<CheckpointInterval> checkpointInterval(core::Rank rank) const = 0;
  /// The newest that every rank has and can read; `skipped` is told of each newer one that cannot be read.
  /// kUnavailable: every rank has none; kDamaged: none can be read.
  virtual core::Result<core::Iteration> newestCheckpoint(
      const std::function<void(const std::string&)>& skipped) = 0;
  /// The state before the forward pass of the iteration. kUnavailable, kDamaged.
  virtual core::Result<core::TrainingState> checkpoint(core::Rank rank, core::Iteration iteration) = 0;
  /// The inputs of the iteration, bit for bit as the graph read them, and what they were made from; the
  /// learning rate among them. kUnavailable; kDamaged: also when they do not have the hash that was recorded.
  virtual core::Result<core::Batch> batch(core::Rank rank, core::Iteration iteration) = 0;
  /// What the rank computed in the iteration, with ids of its own (part() knows the run's). kUnavailable: it
  /// recorded no such iteration; kDamaged.
  virtual core::Result<core::Graph> recordedGraph(core::Rank rank, core::Iteration iteration) = 0;
  /// Whether two iterations of the rank were computed by one graph.
  virtual bool sameGraph(core::Rank rank, core::Iteration a, core::Iteration b) const = 0;
  /// Over the hashes of all tensors that the rank recorded in the iteration, as checkDigest() takes them; it
  /// stays when the rows that say them have gone. kUnavailable: not recorded.
  virtual core::Result<core::Hash128> digest(core::Rank rank, core::Iteration iteration) = 0;
  /// What is recorded of a tensor, if only how many NaN and Inf it had (Source::flags()), nothing computed.
  /// nullptr: nothing; as long valid.
  virtual const watch::StatisticsRow* recordedRow(core::Rank rank, core::Iteration iteration,
                                                  core::TensorId tensor) = 0;
  /// Whether these hashes, by the ids of recordedGraph(), make up that digest. A tensor that the recorder's
  /// rules left out does not count.
  virtual core::Result<bool> checkDigest(core::Rank rank, core::Iteration iteration,
                                         const std::vector<core::Hash128>& hashes) = 0;
};

/// Who computes nodes again from their recorded inputs (replay/recompute).
class Rechecks {
 public:
  virtual ~Rechecks() = default;
  virtual core::Result<watch::Source::Recheck> recheck(core::Rank rank, core::Iteration iteration) = 0;
};

/// Where values come from that a run does not hold: whoever computes them again (replay/recompute).
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  virtual core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration,
                                           core::TensorId tensor) = 0;
  /// nullptr: it cannot be computed. As long valid as Source::statistics().
  virtual const watch::StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                                 core::TensorId tensor) = 0;
};

class Run;
/// "3", or "3 (dp 1/2, tp 1/2)" where it is known how ranks are laid out.
std::string rankText(const Run& run, core::Rank rank);

class Verifiable {
 public:
  virtual ~Verifiable() = default;
  /// Reads everything and checks every hash. `progress` gets (bytes done, bytes in all). Returns all damage.
  virtual std::vector<Damage> verify(const core::CancelToken& cancel,
                                     const std::function<void(std::uint64_t, std::uint64_t)>& progress) = 0;
};

/// A run that is being recorded, or was when it was opened.
class Growing {
 public:
  virtual ~Growing() = default;
  /// Takes in what was recorded since. Graph and ids stay as they are. kMissing: the run is gone, or another
  /// one has taken its place.
  virtual core::Result<RunGrowth> refresh() = 0;
};

/// What the program said after iterations: the loss of an evaluation, the mean of a round.
struct Metric {
  std::string name;
  std::vector<std::pair<core::Iteration, double>> values;  // ascending; not empty; not all need be recorded
};

class Run : public watch::Source {
 public:
  static core::Result<std::unique_ptr<Run>> open(const std::filesystem::path& folder);
  /// Also one whose program failed before there was a graph: then how it ended is all that is known of it.
  static core::Result<std::unique_ptr<Run>> openOrFailure(const std::filesystem::path& folder);
  /// The newest *.msdbg in `folder`; kMissing says where it looked.
  static core::Result<std::filesystem::path> newest(const std::filesystem::path& folder);

  // --- how it was made, and how it ended ---
  virtual std::filesystem::path folder() const = 0;  // where its notes lie too
  virtual const RunDescription& description() const = 0;
  /// As the whole run's file says; as the ranks do where that does not (yet). Of several ends the worst.
  virtual RunEnd end() const = 0;
  virtual std::optional<RunEnd> rankEnd(core::Rank) const { return std::nullopt; }  // nullopt: not known
  virtual bool recording() const { return false; }  // somebody still writes it
  int rankCount() const override { return description().ranks; }

  // --- what is there ---
  virtual const core::IterationSet& iterationSet(core::Rank rank) const = 0;
  std::vector<core::Iteration> iterations(core::Rank rank) const override;
  virtual std::vector<std::int64_t> incompleteIterations(core::Rank) const { return {}; }
  /// Where value() has the value from. nullopt: nowhere.
  virtual std::optional<ValueOrigin> origin(core::Rank rank, core::Iteration iteration,
                                            core::TensorId tensor) const = 0;
  /// In how many iterations stored() is true, and whether in any: quicker than to ask for each.
  virtual std::int64_t storedCount(core::Rank rank, core::TensorId tensor) const = 0;
  virtual bool storedAnywhere(core::Rank rank, core::TensorId tensor) const {
    return storedCount(rank, tensor) > 0;
  }
  /// Of the tensor's bytes, as it was computed. kUnavailable: its recorder kept none.
  virtual core::Result<core::Hash128> hash(core::Rank rank, core::Iteration iteration,
                                           core::TensorId tensor) = 0;
  /// In words why statistics() has no row.
  virtual core::Error missingStatistics(core::Rank rank, core::Iteration iteration,
                                        core::TensorId tensor) = 0;
  virtual std::vector<std::string> scalarNames() = 0;
  /// Those of them that are said now and then, by name.
  virtual std::vector<Metric> metrics(core::Rank) const { return {}; }
  /// Of the newest iteration that has one.
  virtual std::optional<double> lastScalar(core::Rank rank, const std::string& name) = 0;
  virtual std::vector<std::string> sourceFiles() const { return {}; }  // by Frame::file
  virtual std::optional<std::string> sourceText(const std::string&) const { return std::nullopt; }
  virtual Storage storage() const = 0;

  // --- what is missing, and what its recorder said ---
  virtual const std::vector<Damage>& damage() const = 0;        // seen so far: it grows as files are opened
  virtual std::vector<Gap> gaps() const { return {}; }          // by rank, in order
  virtual std::vector<Restart> restarts() const { return {}; }  // by rank, in order
  /// Whether the iteration had statistics, and lost them to keep within its limit.
  virtual bool thinned(core::Rank, core::Iteration) const { return false; }
  virtual Thinning thinning(core::Rank) const { return {}; }
  virtual std::vector<RecordedHit> hits() const { return {}; }  // least (iteration, order, rank) first
  virtual std::vector<MeshAxis> mesh(core::Rank) const { return {}; }
  virtual std::optional<RecordingTimes> timing(core::Rank) const { return std::nullopt; }

  /// Who is asked where value() or statistics() has none: every condition and view gets computed ones then.
  /// nullptr: nobody. It outlives the run, or is taken back before.
  void computeMissingBy(ValueSource* source) { m_missing = source; }
  /// Who answers recheck(). nullptr: nobody. The same.
  void recheckBy(Rechecks* rechecks) { m_rechecks = rechecks; }
  core::Result<Recheck> recheck(core::Rank rank, core::Iteration iteration) override {
    return m_rechecks ? m_rechecks->recheck(rank, iteration) : Source::recheck(rank, iteration);
  }

  // --- what only some can do ---
  virtual Recomputable* recomputable() { return nullptr; }
  virtual Verifiable* verifiable() { return nullptr; }
  virtual Growing* growing() { return nullptr; }

 protected:
  ValueSource* missingValues() const { return m_missing; }

 private:
  ValueSource* m_missing = nullptr;
  Rechecks* m_rechecks = nullptr;
};

/// For the first lines of a program of ours that reads runs, never for a library: what is below does not
/// clean up when the process exits (dump/hdf5/at_exit.h). Before anything else of replay.
void prepareProcess();

/// The recorded iteration nearest to this one (the earlier of two) in which the rank has the tensor's value.
std::optional<core::Iteration> nearestValue(const Run& run, core::Rank rank, core::Iteration iteration,
                                            core::TensorId tensor);

/// A name given on the command line -> tensors / nodes: full name, alias, unique suffix (at a '/' border), or
/// glob; a bare node name means slot 0, a glob every slot. kNotFound: nearest names; kUsage: ambiguous suffix
/// (candidates listed).
core::Result<std::vector<core::TensorId>> resolveTensors(const core::Graph& graph, const std::string& name);
core::Result<core::TensorId> resolveTensor(const core::Graph& graph, const std::string& name);  // exactly one
core::Result<std::vector<core::NodeId>> resolveNodes(const core::Graph& graph, const std::string& name);

}  // namespace msdbg::replay
