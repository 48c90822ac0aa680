// Ranks whose processes the program of a run has started itself: found by their status files, signalled and
// waited for like those that msdbg started, though nobody tells how they ended. Main thread only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>

namespace msdbg::app {

class AdoptedRanks {
 public:
  /// `control`: what MSDBG_CONTROL names in every process of this run and of no other.
  explicit AdoptedRanks(std::filesystem::path control) : m_control(std::move(control)) {}

  /// Whether the process is one of this run on this machine: a pid in a folder that hosts share may mean
  /// another process here. A rank that was started again has a new one.
  bool adopt(int rank, pid_t pid);
  bool allEnded() const;
  /// A stopped process is woken up to hear it.
  void signal(int signal) const;

 private:
  struct Process {
    pid_t pid = 0;
    std::uint64_t startTime = 0;
    bool alive() const;
  };
  std::filesystem::path m_control;
  std::map<int, Process> m_processes;  // by rank
};

}  // namespace msdbg::app
