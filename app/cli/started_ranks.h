// The ranks of a program that starts them itself (torchrun, a shell script): msdbg started one process, sees
// ranks by their folders, and is told by nobody how they end. Notes which was lost first: its program ends
// the others soon after. Main thread only.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "app/cli/launch.h"
#include "dump/session/rank_watch.h"

namespace msdbg::app {

/// What a rank wrote about its own end.
std::optional<dump::RunEnd> journalEnd(const std::filesystem::path& run, int rank);

class StartedRanks {
 public:
  /// How a rank was lost; of several within one look the greatest counts. A victim says it lost another rank:
  /// it counts until another is found.
  enum How { kVictim, kDiedWaiting, kFailed, kDied };
  struct Lost {
    int rank = 0;
    pid_t pid = 0;  // of its process, 0 where it is not known
    How how = kDied;
    bool silent() const { return how == kDied || how == kDiedWaiting; }  // else its journal says why
  };

  StartedRanks(Launch& launch, std::filesystem::path run) : m_launch(launch), m_run(std::move(run)) {}

  /// The program was started again, and its ranks record there.
  void startAgain(std::filesystem::path run);
  /// The highest rank that has a folder, plus one. Reads the run's directory.
  int count() const;
  /// After all watches have been looked at, with what they said.
  void look(const std::vector<dump::RankWatch>& watches, const std::vector<dump::RankWatch::State>& states,
            bool programEnded);

  /// A rank is not the process that msdbg started, but one that this started.
  bool any() const { return !m_pids.empty() || (m_lost && m_lost->pid != m_launch.child()); }
  /// While the program goes on.
  const std::optional<Lost>& seenLost() const { return m_lost; }
  /// Where none was seen to be, the first whose journal has a failure that is no other's.
  std::optional<Lost> firstLost() const;

 private:
  void adopt(const dump::RankWatch& watch);
  void forgetRestarted(const std::vector<dump::RankWatch::State>& states);
  std::optional<Lost> lost(const dump::RankWatch& watch, dump::RankWatch::State state, bool programEnded);

  Launch& m_launch;
  std::filesystem::path m_run;
  std::map<int, pid_t> m_pids;  // by rank
  std::set<int> m_ended;        // whose journals have been asked
  std::optional<Lost> m_lost;
};

}  // namespace msdbg::app
