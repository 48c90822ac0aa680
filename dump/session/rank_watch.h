// RankWatch: looks at one rank's status file now and then and tells whether that rank has died or makes no
// progress. Used by the launcher (all ranks) and, inside a collective, by each rank for the others. One
// thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core_engine/base/ids.h"
#include "dump/run_info.h"
#include "dump/writer/rank_status.h"

namespace msdbg::dump {

class RankWatch {
 public:
  enum class State {
    kUnknown,  // no status file yet
    kWorking,  // makes progress, or its patience is not over
    kWaiting,  // inside a collective: whoever it waits for is to blame
    kHangs,    // no progress for longer than the patience, inside a kernel or with its process stopped
    kIdle,     // the same between iterations: in its own code, or waiting for a rank that evaluates or saves
    kDied,     // its process is gone, and it did not say good-bye
    kEnded,    // ended in good order
  };

  /// patienceSeconds 0: never says kHangs or kIdle.
  RankWatch(std::filesystem::path rankFolder, core::Rank rank, double patienceSeconds)
      : m_folder(std::move(rankFolder)), m_rank(rank), m_patience(patienceSeconds) {}

  /// `now` in seconds on any clock that only goes forward.
  State look(double now);

  core::Rank rank() const { return m_rank; }
  /// The last one seen; none of a rank that has ended in good order: only its journal says where.
  const std::optional<RankStatus>& status() const { return m_status; }
  double stillSeconds() const { return m_still; }  // since the last progress

 private:
  bool progressed(const RankStatus& status);
  State ended();

  std::filesystem::path m_folder;
  core::Rank m_rank;
  double m_patience;
  bool m_seen = false;  // its status file
  std::optional<RankStatus> m_status;
  double m_lastProgress = 0, m_still = 0, m_cpuAtProgress = 0;
};

/// "at network/conv3/Conv-op1 in iteration 5", "after iteration 5", "before its first iteration".
std::string placeText(const RankStatus& status);
/// Puts rank, node and iteration into a run's end.
void setPlace(RunEnd& end, core::Rank rank, const std::optional<RankStatus>& status);

}  // namespace msdbg::dump
