// msdbg as a user has it: installed into a prefix of its own, and programs built against that with
// find_package. Installed once per test program. One thread.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_command.h"

namespace msdbg::test {

/// Enough time to compile, besides the variables.
RunOptions patient(std::vector<std::pair<std::string, std::string>> environment = {});
/// Fails the test when the command does.
void mustRun(const std::vector<std::string>& command, const RunOptions& options = patient());

const std::filesystem::path& installedPrefix();
std::string installedMsdbg();  // its bin/msdbg
/// Configures and builds a CMake project against the prefix; gives the folder with its programs.
std::filesystem::path buildAgainstPrefix(const std::filesystem::path& sources,
                                         const std::filesystem::path& build);
/// What `msdbg info` says of a run.
nlohmann::json infoOf(const std::filesystem::path& run);

}  // namespace msdbg::test
