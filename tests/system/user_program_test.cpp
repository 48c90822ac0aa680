// The README's program, extracted, built against an installed prefix with find_package(msdbg), and recorded
// unchanged.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/readme.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

#ifndef MSDBG_LINK_FLAGS
#define MSDBG_LINK_FLAGS ""
#endif

using namespace msdbg::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

RunOptions patient(std::vector<std::pair<std::string, std::string>> environment = {}) {
  RunOptions o;
  o.environment = std::move(environment);
  o.timeout = std::chrono::seconds(300);
  return o;
}

void run(const std::vector<std::string>& command, const RunOptions& options = patient()) {
  const RunResult result = runCommand(command, options);
  INFO(result.out << result.err);
  REQUIRE(result.exitStatus == 0);
}

std::string install(const TempDir& folder) {
  const std::string prefix = (folder / "prefix").string();
  run({"cmake", "--install", buildDir().string(), "--prefix", prefix});
  return prefix;
}

/// Builds README's train.cpp with README's CMakeLists.txt in `folder`/user.
fs::path buildProgram(const TempDir& folder, const std::string& prefix) {
  const fs::path user = folder / "user";
  fs::create_directories(user);
  std::ofstream(user / "train.cpp") << readmeBlock("train.cpp", "cpp");
  std::ofstream(user / "CMakeLists.txt") << readmeBlock("CMakeLists.txt", "cmake");
  const std::string build = (user / "build").string();
  run({"cmake", "-S", user.string(), "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + prefix,
       "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_EXE_LINKER_FLAGS=" MSDBG_LINK_FLAGS});
  run({"cmake", "--build", build});
  return user / "build" / "train";
}

json infoOf(const std::string& msdbg, const std::string& recording) {
  const RunResult result = runCommand({msdbg, "info", recording, "--json"});
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("The README's program builds against an installed msdbg, trains, and is recorded unchanged",
          "[slow]") {
  TempDir folder;
  const std::string prefix = install(folder), msdbg = prefix + "/bin/msdbg";
  const std::string train = buildProgram(folder, prefix).string();

  run({train, "--steps", "3"});  // unrecorded: leaves nothing behind
  for (const std::string ranks : {"1", "2"}) {
    const std::string recording = (folder / ("run" + ranks + ".msdbg")).string();
    run({msdbg, "dump", "-n", ranks, "--steps", "4", "-o", recording, "--", train});
    const json info = infoOf(msdbg, recording);
    CHECK(info.at("ranks").size() == static_cast<std::size_t>(std::stoi(ranks)));
    CHECK(info.at("state") == "finished");
    const RunResult checked = runCommand({msdbg, "check", recording});
    INFO(checked.out << checked.err);
    CHECK(checked.exitStatus == 0);
    CHECK(runCommand({msdbg, "verify", recording}).exitStatus == 0);
  }
  // A source line of the user's program leads to its nodes.
  std::ifstream source(folder / "user/train.cpp");
  int line = 0, number = 0;
  for (std::string code; std::getline(source, code);) {
    ++number;
    if (line == 0 && code.find("conv(") != std::string::npos) line = number;
  }
  REQUIRE(line > 0);
  const RunResult found = runCommand(
      {msdbg, "search", (folder / "run2.msdbg").string(), "train.cpp:" + std::to_string(line), "--json"});
  REQUIRE(found.exitStatus == 0);
  const json answer = json::parse(found.out);
  std::string types;
  for (const json& n : answer.at("nodes")) types += n.at("op_type").get<std::string>() + " ";
  CHECK_THAT(types, Catch::Contains("Conv ") && Catch::Contains("ConvGradWeight") &&
                        Catch::Contains("Allreduce") && Catch::Contains("SgdUpdate"));
}

TEST_CASE("MSDBG_DUMP records a program started by hand under mpirun", "[slow]") {
  TempDir folder;
  const std::string prefix = install(folder), msdbg = prefix + "/bin/msdbg";
  const std::string train = buildProgram(folder, prefix).string(),
                    recording = (folder / "hand.msdbg").string();
  // Of a sanitizer's build: what Open MPI's plug-ins leak has no name any more once they are unloaded.
  run({"mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none", train, "--steps", "3"},
      patient({{"MSDBG_DUMP", recording},
               {"ASAN_OPTIONS", "detect_leaks=0"},
               {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
               {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}));
  const json info = infoOf(msdbg, recording);
  CHECK(info.at("ranks").size() == 2);
  CHECK(info.at("state") == "finished");
  CHECK(runCommand({msdbg, "verify", recording}).exitStatus == 0);
}
