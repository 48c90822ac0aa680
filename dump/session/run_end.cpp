#include "dump/session/run_end.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "dump/end_text.h"
#include "dump/session/run_start.h"

namespace msdbg::dump {
namespace {

bool isGood(const RunEnd& end) { return end.state == "finished" || end.state == "stopped"; }

}  // namespace

// Hosts with disks of their own have the folders of their own ranks.
Descriptor lockRunEnd(const std::filesystem::path& run, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    Descriptor folder(
        ::open((run / ("rank_" + std::to_string(rank))).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid()) continue;
    while (::flock(folder.get(), LOCK_EX) != 0)
      if (errno != EINTR) return Descriptor();
    return folder;
  }
  return Descriptor();
}

core::Result<ToldEnd> tellRunEnd(const RankEnd& of, const RunEnd& how) {
  const bool good = isGood(how);
  if (good && !of.mine && of.recordedWell) return ToldEnd();
  const Descriptor turn = lockRunEnd(of.run, of.ranks);
  MSDBG_ASSIGN(RunInfo info, readRunInfoToEnd(of.run, of.id));
  if (info.end.state == "failed" || info.end.state == "killed") return ToldEnd{{}, true};
  if (good && how.message.empty() && !info.end.message.empty()) return ToldEnd();  // another rank's recorder
  info.end = how;
  if (!good && how.rank == of.rank.value) info.end.message = failureText(how, of.rank, of.ranks);
  info.endedAt = timeText();
  if (good && !how.onHit()) info.end.rank.reset(), info.end.node.clear(), info.end.iteration.reset();
  MSDBG_TRY(writeRunInfo(of.run, info));
  return ToldEnd{info.end, false};
}

}  // namespace msdbg::dump
