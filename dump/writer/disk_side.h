// DiskSide: the thread of a recorder that builds, writes and commits segments, the only one that calls HDF5,
// and what it does while the disk refuses.
#pragma once

#include <optional>
#include <string>
#include <thread>

#include "dump/writer/pauses.h"
#include "dump/writer/recording.h"
#include "dump/writer/segment_store.h"

namespace msdbg::dump {

class DiskSide {
 public:
  explicit DiskSide(Recording& recording);
  void start();
  bool started() const { return m_thread.joinable(); }
  /// Once input has ended: waits for the thread, writes the last lines of the journal and lets go of its
  /// lock. True: the folder is still where it was.
  bool finish(const RunEnd& end);
  /// What is missing for good. After finish().
  core::Status completeness() const;
  /// Any thread.
  std::uint64_t bytesWritten() const { return m_bytesWritten; }

 private:
  /// A time in which the disk refuses.
  struct Trouble {
    core::Error error;
    double since = 0;  // Unix time, s
    Pauses pauses;
    bool ended = false;  // input has; no new patience for that
  };
  static RetentionRules retention(Recording& recording);
  void work();
  void listHits();
  void settle();
  void commit(const PendingIterations::Commit& segment);
  bool spareWork(const PendingIterations::Spare& moment);
  void settleJournal();
  void endure(const core::Error& error);
  void recovered();
  void noteLost(const PendingIterations::GivenUp& lost);

  Recording& m_recording;
  PendingIterations& m_pending;
  SegmentStore m_store;
  std::optional<Trouble> m_trouble;
  core::IterationSet m_missing;  // given up
  std::string m_whyMissing;      // the first time
  std::atomic<std::uint64_t> m_bytesWritten{0};
  std::thread m_thread;
};

}  // namespace msdbg::dump
