#include "tests/system/installed.h"

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"

#ifndef MSDBG_LINK_FLAGS
#define MSDBG_LINK_FLAGS ""
#endif

namespace msdbg::test {

namespace fs = std::filesystem;

RunOptions patient(std::vector<std::pair<std::string, std::string>> environment) {
  RunOptions options;
  options.environment = std::move(environment);
  options.timeout = std::chrono::seconds(300);
  return options;
}

void mustRun(const std::vector<std::string>& command, const RunOptions& options) {
  const RunResult result = runCommand(command, options);
  INFO(result.out << result.err);
  REQUIRE(result.exitStatus == 0);
}

const fs::path& installedPrefix() {
  static const TempDir folder;
  static const fs::path prefix = [] {
    const fs::path path = folder / "prefix";
    mustRun({"cmake", "--install", buildDir().string(), "--prefix", path.string()});
    return path;
  }();
  return prefix;
}

std::string installedMsdbg() { return (installedPrefix() / "bin/msdbg").string(); }

fs::path buildAgainstPrefix(const fs::path& sources, const fs::path& build) {
  mustRun({"cmake", "-S", sources.string(), "-B", build.string(), "-G", "Ninja",
           "-DCMAKE_PREFIX_PATH=" + installedPrefix().string(), "-DCMAKE_BUILD_TYPE=Release",
           "-DCMAKE_EXE_LINKER_FLAGS=" MSDBG_LINK_FLAGS});
  mustRun({"cmake", "--build", build.string()});
  return build;
}

nlohmann::json infoOf(const fs::path& run) {
  const RunResult result = runCommand({installedMsdbg(), "info", run.string(), "--json"});
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  return nlohmann::json::parse(result.out);
}

}  // namespace msdbg::test
