// PendingIterations: everything between training and the disk. The training thread puts statistics and copies
// in and waits when it is too far ahead; the background thread takes work out: rows to encode, iterations to
// commit. It decides when a segment is due (DESIGN.md: at the latest one second after its first iteration
// ended, unless it is told to wait longer).
#pragma once

#include <semaphore.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <variant>

#include "core_engine/base/iteration_set.h"
#include "dump/hits/hit_windows.h"
#include "dump/writer/iteration_record.h"
#include "dump/writer/row_layouts.h"

namespace msdbg::dump {

class PendingIterations {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kCommitWithin{1000};

  /// bufferBytes: what may wait in memory. segmentBytes: a segment of about this size is committed without
  /// waiting longer. windows: which iterations keep their values; those that do not lose them here, before
  /// they are compressed or written. nullptr: all do.
  PendingIterations(std::uint64_t bufferBytes, std::uint64_t segmentBytes,
                    const HitWindows* windows = nullptr);
  ~PendingIterations();
  /// Before the first iteration. Longer than kCommitWithin: fewer, larger segments.
  void commitWithin(std::chrono::milliseconds time) { m_commitWithin = time; }
  /// Called by the training thread for each commit that it sees while it waits for several.
  void whileWaiting(std::function<void()> progress) { m_progress = std::move(progress); }

  /// From here on, by the background thread: of what waits in memory the newest values stay, as many as fit
  /// into these bytes (before compression), for they would drop the others as soon as all were written. They
  /// are written at the end of the second, and when the iterations that lost theirs fill a segment.
  /// `isNeeded`: the values of that iteration stay in any case. 0: all are written.
  void keepNewest(std::uint64_t bytes, std::function<bool(std::int64_t iteration)> isNeeded);

  // --- training thread ---
  /// False once closed or failed: nothing more is recorded.
  bool open() const;
  void begin(std::shared_ptr<IterationRecord> record);
  void addStatistics(std::int64_t tensor, const watch::StatisticsRow& row);
  void addRow(RowKey key, TensorRow row);
  /// Of the iteration in progress these tensors keep their hash only, those flags, and those nothing.
  void forgetStatistics(std::span<const core::TensorId> hashes, std::span<const core::TensorId> flags,
                        std::span<const core::TensorId> nothing);
  /// The iteration in progress keeps its statistics only. Only while training's threads write its rows.
  void dropRows();
  /// The iteration in progress, nullptr without one. Its values may go while it is held, not its statistics.
  std::shared_ptr<const IterationRecord> current() const;
  void finish(const core::Scalars& scalars);
  /// Blocks while more than bufferBytes are pending, or a finished iteration has waited for over a second.
  void waitForRoom();
  /// Before an iteration that will take about so long: whether what is finished will be a segment without it.
  /// It is then committed now. Only while training's threads write: it looks at rows, and none of those in
  /// the last file may be waiting for the background thread to encode it.
  bool cut(Clock::duration next);
  /// What is finished will be a segment without the next iteration, which begins a file.
  void cutHere();
  /// Before an iteration that begins a file: blocks while two others wait to be committed, so that the disk
  /// holds one that is filled beside the one that is completed.
  void waitForFile();

  /// Blocks until all that is finished is committed.
  void commitAll();
  /// From here on; see the constructor.
  void setSegmentBytes(std::uint64_t bytes);

  // --- any thread ---
  /// What was finished is committed now. Async-signal-safe.
  void requestCommit() noexcept;
  /// No more input: what is there, the iteration in progress included, is handed out, then Stop.
  void close();
  void fail(core::Error error);
  core::Status status() const;

  // --- background thread ---
  struct Encode {
    std::shared_ptr<IterationRecord> record;
    RowKey key;
    TensorRow* row;
  };
  struct Commit {
    std::vector<std::shared_ptr<IterationRecord>> records;
  };
  struct Spare {
    Clock::time_point until;  // then there may be something else to do
    Clock::time_point due;    // nothing may take longer
  };
  struct Stop {};
  using Work = std::variant<Encode, Commit, Spare, Stop>;
  /// Blocks; with `spareWork` it gives Spare instead.
  Work next(bool spareWork = false);
  void encoded(const Encode& job);
  void committed(const Commit& segment, Clock::duration took);

  // --- while the disk refuses ---
  /// From now on, and until a commit works, training waits for nothing but memory.
  void refused();
  /// Waits so long; less when input ends, or more than bufferBytes are pending. True: they are.
  bool pauseFor(Clock::duration time);
  /// Makes room: the values of the oldest finished iterations go, then these altogether.
  void giveUpSome();
  /// Every finished iteration goes.
  void giveUpAll();
  bool closed() const;
  struct GivenUp {
    core::IterationSet iterations;  // altogether
    bool values = false;            // of others
  };
  /// What went since the last call.
  GivenUp takeGivenUp();

 private:
  bool nextFits(std::size_t first) const;
  bool belongsTo(std::uint64_t segment, std::uint64_t iteration) const;
  /// Finished iterations from the first on that make one segment.
  std::size_t segmentLength(std::size_t first, bool& isFull);
  bool encodedUpTo(std::size_t count) const;
  void queueEncoding(const std::shared_ptr<IterationRecord>& record);
  void dropRowsOf(const std::shared_ptr<IterationRecord>& record);
  /// Those of /tensor only: what leads to them again (checkpoints, batches) stays.
  void dropValuesOf(const std::shared_ptr<IterationRecord>& record);
  void dropOvertaken();
  bool isWorthWriting() const;
  void dropUnwanted();
  Clock::time_point deadline(std::size_t first = 0) const;
  /// All that is finished is to be committed now.
  void force();
  /// Does so and blocks until it is done or that is enough; not at all where it is already.
  template <typename Done>
  void commitUntil(Done done);
  void enqueue();
  void finishIncomplete();
  void drop();
  void giveUpOldest();
  void wake() noexcept;
  void sleepUntil(std::unique_lock<std::mutex>& lock, std::optional<Clock::time_point> until);

  const std::uint64_t m_bufferBytes;
  std::uint64_t m_segmentBytes;
  std::chrono::milliseconds m_commitWithin = kCommitWithin;
  const HitWindows* m_windows;
  mutable std::mutex m_mutex;
  std::condition_variable m_room;
  sem_t m_wake;
  std::atomic<bool> m_commitRequested{false};
  std::shared_ptr<IterationRecord> m_current;
  std::deque<std::shared_ptr<IterationRecord>> m_finished;  // not yet committed, oldest first
  std::deque<Encode> m_toEncode;
  KnownLayouts m_layouts;
  std::uint64_t m_pendingBytes = 0;
  std::uint64_t m_newest = 0;  // bytes of values, see keepNewest()
  std::function<bool(std::int64_t)> m_isNeeded;
  std::size_t m_settled = 0;  // so many of m_finished lose no values any more, and go out
  std::size_t m_forced = 0;   // so many of m_finished go out without waiting
  std::int64_t m_commits = 0;
  std::function<void()> m_progress = [] {};
  Clock::duration m_reserve{std::chrono::milliseconds(300)};  // of the second, for building and writing
  bool m_closed = false, m_refused = false;
  GivenUp m_givenUp;
  std::optional<core::Error> m_failure;
};

}  // namespace msdbg::dump
