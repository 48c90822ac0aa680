// Starting the processes of a run, and ending them. A Launch owns what it started: mpirun and the ranks, or
// the one program; its destructor leaves nothing running. Main thread only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/adopted_ranks.h"
#include "core_engine/base/result.h"
#include "dump/descriptor.h"
#include "dump/session/run_control.h"

namespace msdbg::app {

struct ProcessSpec {
  std::vector<std::string> program;
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
  bool stdoutToStderr = false;
  bool ownGroup = false;  // Ctrl-C on the terminal reaches this process only, which passes it on
};

/// fork and exec. The child gets SIGTERM when this process dies, and default signal handling. kUsage: it
/// cannot be executed (with the reason).
core::Result<pid_t> startProcess(const ProcessSpec& spec);

class Launch {
 public:
  /// One rank is the program itself; several are started by mpirun, each below `msdbg run-rank`.
  static core::Result<std::unique_ptr<Launch>> start(ProcessSpec spec, int ranks);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int ranks() const { return m_ranks; }
  const dump::RunControl& control() const { return *m_control; }
  std::optional<int> rankStatus(int rank) const {
    return m_control->process(rank).status;
  }  // as waitpid gives it

  /// Notices what has ended. True when nothing of the run is left.
  bool over();
  /// mpirun ended, but some rank never started or never said how it ended.
  std::optional<int> launcherFailure() const;
  /// A rank that the program has started itself is signalled and waited for as well from now on. False: it is
  /// no process of this run on this machine, and nothing happens.
  bool adopt(int rank, pid_t pid) { return m_adopted->adopt(rank, pid); }
  /// The process that was started: of one rank the program, which may be what starts the ranks.
  pid_t child() const { return m_child; }
  /// To all ranks that still run; a stopped process is woken up to hear it.
  void signalRanks(int signal);
  /// Nobody waits any longer.
  void kill();

 private:
  explicit Launch(int ranks) : m_ranks(ranks) {}
  core::Status prepare();
  void reap();
  bool allEnded() const;

  int m_ranks;
  std::filesystem::path m_folder;  // shared memory of this run; removed at the end
  dump::Descriptor m_lock;         // on the folder: it is in use
  std::unique_ptr<dump::RunControl> m_control;
  pid_t m_child = 0;  // the program, or mpirun
  std::optional<int> m_childStatus;
  std::optional<AdoptedRanks> m_adopted;  // always there once prepared
  std::optional<std::chrono::steady_clock::time_point> m_allEndedAt;
};

}  // namespace msdbg::app
