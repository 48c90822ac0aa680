// The exit status of a program that was started by hand: known only when its Session is long gone.
#pragma once

#include <filesystem>
#include <string>

#include "core_engine/base/ids.h"
#include "dump/run_info.h"

namespace msdbg::dump {

/// What run.json says is changed to a failure when this process exits with a status other than 0. `end`: how
/// the recording ended. Training thread, once.
void noteExitStatus(const std::filesystem::path& run, const std::string& id, core::Rank rank, int ranks,
                    const RunEnd& end);

}  // namespace msdbg::dump
