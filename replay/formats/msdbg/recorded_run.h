// Runs in msdbg's own format (dump/FORMAT.md). Internal to replay: Run::open() is the way in.
#pragma once

#include "replay/run.h"

namespace msdbg::replay {

/// As dump::RunReader::open().
core::Result<std::unique_ptr<Run>> openRecordedRun(const std::filesystem::path& folder);
/// A run without a graph: nothing but how it ended. kUnavailable: that is not known either.
core::Result<std::unique_ptr<Run>> openFailedRun(const std::filesystem::path& folder);

}  // namespace msdbg::replay
