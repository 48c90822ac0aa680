// How a run ended, put into its run.json by one of its ranks: whoever made the folder does, or the rank that
// fails first. All calls from any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core_engine/base/ids.h"
#include "dump/descriptor.h"
#include "dump/run_info.h"

namespace msdbg::dump {

/// The turn of this process to read run.json and write there how the run ended, for as long as the descriptor
/// lives: ranks often fail at the same moment. Waits for it. Not run.json itself is locked: who reads that
/// locks it too, and it is replaced. Not valid: no rank's folder is here, or the file system has no locks.
Descriptor lockRunEnd(const std::filesystem::path& run, int ranks);

struct RankEnd {
  std::filesystem::path run;
  std::string id;  // of the run
  core::Rank rank{0};
  int ranks = 1;
  bool mine = false;         // this rank made the folder: it tells a good end
  bool recordedWell = true;  // else this rank tells that its recorder failed
};
struct ToldEnd {
  std::optional<RunEnd> end;  // what run.json says now, where this call wrote it
  bool failedBefore = false;  // it told of a failure already, which is the reason for this one
};
/// Errors: run.json cannot be read (kMissing: it is another run's now) or written.
core::Result<ToldEnd> tellRunEnd(const RankEnd& of, const RunEnd& how);

}  // namespace msdbg::dump
