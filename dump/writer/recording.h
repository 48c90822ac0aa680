// Recording: what the two threads of a recorder share. TrainingSide observes and takes values, DiskSide
// commits them; PendingIterations hands over between the two. Internal to the recorder.
#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "dump/hits/first_fault.h"
#include "dump/hits/hit_watch.h"
#include "dump/journal.h"
#include "dump/writer/checkpoint_schedule.h"
#include "dump/writer/pending_iterations.h"
#include "dump/writer/recorder.h"
#include "dump/writer/row_path.h"

namespace msdbg::dump {

struct Recording {
  const Recorder::Place place;
  const RecordOptions options;
  const std::filesystem::path folder;  // of the rank
  std::shared_ptr<JournalWriter> journal;
  const std::shared_ptr<SpareFile> spareFile;
  const std::unique_ptr<HitWatch> hits;  // nullptr: values are kept without
  FirstFault firstFault;                 // whose values go last, where --on-hit does not decide
  StageClock clock;
  BufferPool pool;  // outlives everything that holds buffers
  PendingIterations pending;
  CheckpointSchedule schedule;
  std::atomic<ChosenWay> writing{};          // large values
  std::atomic<bool> wroteLarge{false};       // there were any
  std::atomic<bool> onlyStatistics{false};   // one iteration is more than may be kept
  std::atomic<bool> limited{false};          // values were dropped, or soon will be
  std::atomic<std::uint64_t> wantedRoom{0};  // of the disk, that each commit is to leave
  std::atomic<bool> lostValues{false};       // they could not be written
  std::atomic<bool> recordedAny{false};      // an iteration
  std::atomic<bool> gaveUp{false};           // training is to end

  Recording(const Recorder::Place& where, const RecordOptions& what, std::shared_ptr<JournalWriter> lines,
            std::unique_ptr<HitWatch> watch);

  std::string rankText() const { return "rank " + std::to_string(place.rank.value); }
  /// Bytes that this rank may keep.
  std::uint64_t share() const {
    return options.maxBytes / static_cast<std::uint64_t>(std::max(1, place.ranks));
  }
  /// --on-hit decides about full values. Without any it only tells of hits: checkpoints and batches are what
  /// the run is for then, and stay.
  bool spools() const { return hits && options.keepsValues(); }
  /// That one segment is committed with, whose values wait in memory, or come into its file.
  std::uint64_t segmentBytes(bool inMemory) const;
  /// --on-error says whether training is worth going on while something is missing; unless it says so, a
  /// recording that never began is not.
  bool mayLose() const {
    return options.onError ? *options.onError == OnError::kContinue : recordedAny.load();
  }
  /// So far. Any thread.
  RecordingTimes times() const;
  /// Recording stops. Said once, with what becomes of training. Any thread.
  void fail(const core::Error& error);
};

}  // namespace msdbg::dump
