// TrainingSide: what a recorder does on the training thread: looks at every value, keeps those that rules,
// checkpoints and batches ask for, and waits where the disk cannot follow.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dump/writer/rank_status.h"
#include "dump/writer/recording.h"
#include "dump/writer/row_path.h"
#include "dump/writer/value_observer.h"

namespace msdbg::dump {

class TrainingSide {
 public:
  TrainingSide(Recording& recording, std::unique_ptr<RankStatusWriter> status);

  // As Observer has them.
  void graphReady(const core::Graph& graph);
  void stateSet(core::Iteration iteration);
  void sourcesGiven(core::Iteration iteration, std::span<const core::GivenSource> sources);
  void iterationStarted(core::Iteration iteration);
  void tensorReady(const core::TensorReady& ready);
  core::ValueWish valueWish(core::Iteration iteration, core::TensorId tensor) const;
  core::UpdateWish updateWish(core::Iteration iteration, core::TensorId tensor) const;
  void kernelStarted(core::Iteration iteration, core::KernelId kernel);
  void iterationFinished(core::Iteration iteration, const core::Scalars& scalars);
  void metricsGiven(core::Iteration iteration, const core::Scalars& metrics);

  void removeStatus() { m_status->remove(); }

 private:
  std::vector<WritingWay> ways() const;
  core::Status adopt(const core::Graph& graph, const std::string& bytes);
  void use(std::shared_ptr<const GraphPlan> plan);
  void warnOfRules(const core::Graph& graph) const;
  double checkpointCost() const;  // in iterations of training; 0: not known yet
  void waitForRoom();
  bool needsStatistics(Policy policy) const {  // conditions look at all tensors
    return m_recording.hits || policy == Policy::kFull || policy == Policy::kStats;
  }
  void forgetUnwanted(core::Iteration iteration);
  void restarts(core::Iteration iteration);
  void beginsAnew(core::Iteration iteration);
  bool checkpointBeginsSegment();
  void beginRecord(core::Iteration iteration);
  bool hasRoom();
  void noRoomFor(core::Iteration iteration);
  void failedToKeep(const core::Error& error, std::uint64_t bytes);
  core::TensorObservation observeAndKeep(const core::TensorReady& ready, const ValueObserver::Known& known);
  bool mayWriteAhead(const core::TensorReady& ready, const ValueObserver::Known& known);
  bool keepsNone(const core::Tensor& value) const {
    return value.bytes() == 0 || m_recording.onlyStatistics || m_diskShort;
  }
  RowKey judgedAs(RowKey key) const;
  void keep(RowKey key, const core::Tensor& value, std::vector<core::Hash128> blocks = {},
            std::optional<float> divisor = {}, std::optional<RowFile::Ahead> ahead = {});
  void keepForReplay(const core::TensorInfo& tensor, const core::Tensor& value);

  Recording& m_recording;
  PendingIterations& m_pending;
  StageClock& m_clock;
  std::unique_ptr<RankStatusWriter> m_status;
  RowTaker m_rows;
  ValueObserver m_values;
  const std::uint64_t m_segmentInMemory, m_segmentInFile;  // bytes that one is committed with
  std::shared_ptr<const GraphPlan> m_plan;
  /// By the bytes of their graphs: the same graph again is not a new version.
  std::map<std::string, std::shared_ptr<const GraphPlan>> m_plans;
  std::vector<core::GivenSource> m_given;  // what inputs of the next iteration were made from
  // Of the iteration in progress: it is recorded, begins with a checkpoint, has statistics only.
  bool m_selected = false, m_checkpoint = false, m_diskShort = false;
  bool m_saidDiskShort = false, m_saidRestart = false;
  int m_waitedInVain = 0;  // commits for room on the disk, one after the other
  bool m_apart = false;    // it is in another segment than what was recorded before it
  bool m_anew = false;     // the next recorded iteration does not follow from what is recorded before it
  std::chrono::steady_clock::time_point m_begun{};  // when a checkpoint last began a segment
  std::int64_t m_recorded = 0;                      // iterations, since the clock started
  std::int64_t m_finished = -1, m_newest = -1;      // recorded iterations: the last one, the one furthest on
};

}  // namespace msdbg::dump
