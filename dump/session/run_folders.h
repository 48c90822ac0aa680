// The run folders of all ranks before anything is recorded: one that all see, or one on each host. Called by
// all ranks together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core_engine/ops/communicator.h"
#include "dump/descriptor.h"
#include "dump/session/session_settings.h"

namespace msdbg::dump {

struct RunFolders {
  /// This rank wrote run.json, so it is the one that says there how the run ended. Where a launcher made the
  /// folder this holds on other hosts only.
  bool mine = false;
  Descriptor lock;                     // of that rank: while it lives, nobody replaces the folder
  std::string id;                      // of the run
  std::vector<core::Rank> neighbours;  // the other ranks on this machine: their processes can be looked at
  std::string refused;  // why another rank could not begin, which says so itself; "": all could
};

/// Rank 0 makes the folder with run.json, unless a launcher has. A rank that does not see this run there (its
/// host has a disk of its own) makes its own copy; the ranks beside it then see that. All succeed or none:
/// the rank that cannot has the error, the others have `refused`.
core::Result<RunFolders> makeRunFolders(core::Communicator& communicator, const SessionSettings& settings,
                                        int threads);

}  // namespace msdbg::dump
