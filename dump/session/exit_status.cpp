#include "dump/session/exit_status.h"

#include <stdlib.h>

#include "core_engine/base/log.h"
#include "dump/end_text.h"
#include "dump/session/run_end.h"

namespace msdbg::dump {
namespace {

struct Ended {
  std::filesystem::path run;
  std::string id;
  core::Rank rank;
  int ranks;
  RunEnd end;
};
Ended* g_ended = nullptr;  // never destroyed: it is for the very end

// The first failure is the reason: one that is there already stays.
void onExit(int status, void*) {
  if (status == 0) return;
  const Descriptor turn = lockRunEnd(g_ended->run, g_ended->ranks);
  core::Result<RunInfo> info = readRunInfoToEnd(g_ended->run, g_ended->id);
  if (!info.ok() || info->end.state != "finished") return;
  RunEnd end = g_ended->end;
  end.state = "failed";
  end.exitStatus = status;
  end.rank = g_ended->rank.value;
  end.message.clear();
  end.message = failureText(end, g_ended->rank, g_ended->ranks);
  info->end = end;
  const core::Status written = writeRunInfo(g_ended->run, *info);
  if (!written.ok()) core::logError(written.error().message());
}

}  // namespace

void noteExitStatus(const std::filesystem::path& run, const std::string& id, core::Rank rank, int ranks,
                    const RunEnd& end) {
  const bool first = g_ended == nullptr;
  g_ended = new Ended{run, id, rank, ranks, end};
  if (first) on_exit(onExit, nullptr);
}

}  // namespace msdbg::dump
