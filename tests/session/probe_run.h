// The probe (session_probe.cpp) under `msdbg dump`, and what is then asked of its run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "dump/run_info.h"
#include "tests/support/run_command.h"

namespace msdbg::test {

/// The command: options of `msdbg dump`, then the probe's words.
std::vector<std::string> dumpProbe(const std::filesystem::path& run, int ranks,
                                   std::vector<std::string> program, std::vector<std::string> options = {});

/// How run.json says that the run ended.
dump::RunEnd endOf(const std::filesystem::path& run);

/// Committed iterations of a rank, the incomplete one apart; checks that nothing is damaged.
std::int64_t completeIterations(const std::filesystem::path& run, int rank);

/// Checks that nobody records any more and that every hash is right.
void checkReadable(const std::filesystem::path& run);

/// Runs a long recording and calls `act` with a rank's pid once that rank has done a few iterations.
RunResult disturb(const std::vector<std::string>& command, const std::filesystem::path& run, int rank,
                  const std::function<void(pid_t)>& act, const RunOptions& options = {});

}  // namespace msdbg::test
