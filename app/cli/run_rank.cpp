// msdbg run-rank -- PROGRAM… (hidden): what mpirun starts instead of the program itself. It starts the
// program, waits, and tells the launcher how it ended: mpirun would only tell one status for all, seconds
// later.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/launch.h"
#include "dump/session/run_control.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

Result<int> rankOfEnvironment() {
  const char* text = getenv("OMPI_COMM_WORLD_RANK");
  const int rank = text ? atoi(text) : -1;
  if (rank < 0 || rank >= dump::RunControl::kMaxRanks)
    return Error(ErrorCode::kUsage, "run-rank is started by msdbg dump under mpirun only");
  return rank;
}

int waitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

Result<int> runRank(const Context& context) {
  MSDBG_ASSIGN(const int rank, rankOfEnvironment());
  const char* file = getenv("MSDBG_CONTROL");
  MSDBG_ASSIGN(const auto control, dump::RunControl::open(file ? file : ""));
  // Signals to the group reach the program by themselves; this process stays to see how it ends.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
  MSDBG_ASSIGN(const pid_t child, startProcess({.program = context.program}));
  control->setPid(rank, child);
  const int status = waitFor(child);
  control->setEnded(rank, status);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Command::Run setup(CLI::App&, Context& context) {
  return [&context] { return runRank(context); };
}

}  // namespace

Command runRankCommand() {
  return {.name = "run-rank",
          .summary = "starts one rank's program under mpirun (internal)",
          .examples = "  msdbg run-rank -- ./train\n",
          .setup = setup,
          .takesProgram = true,
          .hidden = true};
}

}  // namespace msdbg::app
