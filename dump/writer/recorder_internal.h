// Recorder::Impl: what the two threads of a recorder share. The training thread's functions are in
// recorder.cpp, the background thread's in recorder_thread.cpp; PendingIterations hands over between them.
// Internal to both.
#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "dump/hits/first_fault.h"
#include "dump/hits/hit_watch.h"
#include "dump/writer/checkpoint_schedule.h"
#include "dump/writer/pauses.h"
#include "dump/writer/pending_iterations.h"
#include "dump/writer/rank_status.h"
#include "dump/writer/recorder.h"
#include "dump/writer/row_path.h"
#include "dump/writer/segment_store.h"
#include "dump/writer/updated_values.h"

namespace msdbg::dump {

struct Recorder::Impl {
  /// A time in which the disk refuses.
  struct Trouble {
    core::Error error;
    double since = 0;  // Unix time, s
    Pauses pauses;
    bool ended = false;  // input has; no new patience for that
  };

  Place place;
  RecordOptions options;
  std::filesystem::path folder;
  std::shared_ptr<JournalWriter> journal;
  std::shared_ptr<SpareFile> spareFile;
  std::unique_ptr<HitWatch> hits;  // nullptr: values are kept without
  FirstFault firstFault;           // whose values go last, where --on-hit does not decide
  std::unique_ptr<RankStatusWriter> rankStatus;
  StageClock clock;
  BufferPool pool;  // outlives everything that holds buffers
  PendingIterations pending;
  RowTaker rows;
  SegmentStore store;
  std::shared_ptr<const GraphPlan> plan;
  std::string graphBytes;  // of the plan: the same graph again is not a new version
  bool selected = false;   // the iteration in progress is recorded
  CheckpointSchedule schedule;
  UpdatedValues updates;
  std::optional<std::pair<core::TensorId, core::TensorObservation>> updateSeen;  // of the next tensorReady()
  std::pair<core::TensorId, core::TensorId> sameValue;  // the next tensorReady(), and whose bytes it has
  bool checkpoint = false;                              // the iteration in progress begins with one
  std::vector<core::GivenSource> given;                 // what inputs of the next iteration were made from
  std::atomic<std::uint64_t> bytesWritten{0};
  const std::uint64_t segmentInMemory, segmentInFile;  // bytes that one is committed with
  std::atomic<ChosenWay> writing{};                    // large values
  std::atomic<bool> wroteLarge{false};                 // there were any
  std::atomic<bool> onlyStatistics{false};             // one iteration is more than may be kept
  std::atomic<bool> limited{false};                    // values were dropped, or soon will be
  bool saidDiskShort = false, waitedInVain = false;
  bool diskShort = false;                    // the iteration in progress has statistics only
  std::atomic<std::uint64_t> wantedRoom{0};  // of the disk, that the next commit is to make
  std::optional<Trouble> trouble;            // background thread
  IterationSet missing;                      // given up; background thread, then finish()
  std::string whyMissing;                    // the first time
  std::atomic<bool> lostValues{false};       // the training thread could not write them
  std::atomic<bool> recordedAny{false};      // an iteration
  std::atomic<bool> gaveUp{false};           // training is to end
  std::thread thread;
  std::mutex finishMutex;

  Impl(const Place& where, const RecordOptions& what, std::shared_ptr<JournalWriter> lines,
       std::unique_ptr<HitWatch> watch);

  std::uint64_t share() const {
    return options.maxBytes / static_cast<std::uint64_t>(std::max(1, place.ranks));
  }
  // --on-hit decides about full values. Without any it only tells of hits: checkpoints and batches are what
  // the run is for then, and stay.
  bool spools() const { return hits && options.keepsValues(); }
  // Values of which most will be dropped (--on-hit) are not worth a file.
  std::vector<WritingWay> ways() const {
    std::vector<WritingWay> all = waysToWrite(options.write, place.threads, place.ranks, place.run);
    if (!spools()) return all;
    for (WritingWay& way : all) way.inTeam = false;
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
  }
  RetentionRules retention() const {
    RetentionRules rules{.maxBytes = share(), .keepLast = options.keepLast, .keep = {}};
    rules.keep = [this](auto first, auto last) { return firstFault.keep(first, last); };
    if (spools()) rules.keep = [this](auto first, auto last) { return hits->windows().keep(first, last); };
    return rules;
  }
  const HitWindows* windows() const { return spools() ? &hits->windows() : nullptr; }

  // recorder_thread.cpp
  void start();
  void work();
  void listHits();
  void settle();
  void commit(const PendingIterations::Commit& segment);
  bool spareWork(const PendingIterations::Spare& moment);
  void settleJournal();
  void endure(const core::Error& error);
  void recovered();
  bool mayLose() const;
  void noteLost(const PendingIterations::GivenUp& lost);
  core::Status completeness() const;
  void fail(const core::Error& error);

  /// What was recorded of a tensor with the same bytes (count -1: only the hash); nullptr: nothing. Not
  /// `certain` where a value is written: what is written is hashed as it is written.
  struct Known {
    const core::TensorStatistics* values = nullptr;
    bool certain = false;
  };

  // recorder.cpp
  core::Status adopt(const core::Graph& graph, std::string bytes);
  void warnOfRules(const core::Graph& graph) const;
  void waitForRoom();
  bool needsStatistics(Policy policy) const {  // conditions look at all tensors
    return hits || policy == Policy::kFull || policy == Policy::kStats;
  }
  void forgetUnwanted(core::Iteration iteration);
  void beginRecord(core::Iteration iteration);
  bool hasRoom();
  void noRoomFor(core::Iteration iteration);
  void failedToKeep(const core::Error& error, std::uint64_t bytes);
  core::TensorObservation observe(core::TensorId tensor, const core::Tensor& value,
                                  const core::Tensor* previous, const Known& known,
                                  std::function<void()> alongside = {});
  core::TensorObservation observeAndKeep(core::TensorId tensor, const core::Tensor& value,
                                         const core::Tensor* previous, const Known& known);
  bool mayWriteAhead(core::TensorId tensor, const core::Tensor& value, const Known& known);
  bool keepsNone(const core::Tensor& value) const {
    return value.bytes() == 0 || onlyStatistics || diskShort;
  }
  RowKey judgedAs(RowKey key) const;
  core::Hash128 hash(core::TensorId tensor, const core::Tensor& value, const Known& known);
  Known knownOf(const core::TensorInfo& tensor, core::TensorId same, bool isWritten) const;
  void keep(RowKey key, const core::Tensor& value, std::vector<core::Hash128> blocks = {},
            std::optional<float> divisor = {}, std::optional<RowFile::Ahead> ahead = {});
  void keepForReplay(const core::TensorInfo& tensor, const core::Tensor& value);
};

}  // namespace msdbg::dump
