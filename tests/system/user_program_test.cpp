// The README's program, extracted, built against an installed prefix with find_package(msdbg), and recorded
// unchanged.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/documents.h"
#include "tests/support/temp_dir.h"
#include "tests/system/installed.h"

using namespace msdbg::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Builds README's train.cpp with README's CMakeLists.txt in `folder`/user.
std::string buildProgram(const TempDir& folder) {
  const fs::path user = folder / "user";
  fs::create_directories(user);
  std::ofstream(user / "train.cpp") << documentBlock("README.md", "train.cpp", "cpp");
  std::ofstream(user / "CMakeLists.txt") << documentBlock("README.md", "CMakeLists.txt", "cmake");
  return (buildAgainstPrefix(user, user / "build") / "train").string();
}

}  // namespace

TEST_CASE("A program that includes msdbg.h starts with patient threads, unless the user has chosen") {
  const std::string program = (buildDir() / "tests/check_corpus").string();
  const auto spins = [&](std::vector<std::string> chosen) {
    std::vector<std::string> command = {
        "env", "-u", "GOMP_SPINCOUNT", "-u", "OMP_WAIT_POLICY", "OMP_DISPLAY_ENV=verbose"};
    command.insert(command.end(), chosen.begin(), chosen.end());
    command.insert(command.end(), {program, "--help"});
    return runCommand(command).err;
  };
  CHECK_THAT(spins({}), Catch::Contains("GOMP_SPINCOUNT = '1000'"));
  CHECK_THAT(spins({"GOMP_SPINCOUNT=77"}), Catch::Contains("GOMP_SPINCOUNT = '77'"));
  CHECK_THAT(spins({"OMP_WAIT_POLICY=active"}), Catch::Contains("OMP_WAIT_POLICY = 'ACTIVE'"));
}

TEST_CASE("The README's program builds against an installed msdbg, trains, and is recorded unchanged",
          "[slow]") {
  TempDir folder;
  const std::string msdbg = installedMsdbg(), train = buildProgram(folder);

  mustRun({train, "--steps", "3"});  // unrecorded: leaves nothing behind
  for (const std::string ranks : {"1", "2"}) {
    const std::string recording = (folder / ("run" + ranks + ".msdbg")).string();
    mustRun({msdbg, "dump", "-n", ranks, "--steps", "4", "-o", recording, "--", train});
    const json info = infoOf(recording);
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
  const std::string train = buildProgram(folder), recording = (folder / "hand.msdbg").string();
  // Of a sanitizer's build: what Open MPI's plug-ins leak has no name any more once they are unloaded.
  mustRun({"mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none", train, "--steps", "3"},
          patient({{"MSDBG_DUMP", recording},
                   {"ASAN_OPTIONS", "detect_leaks=0"},
                   {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                   {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}));
  const json info = infoOf(recording);
  CHECK(info.at("ranks").size() == 2);
  CHECK(info.at("state") == "finished");
  CHECK(runCommand({installedMsdbg(), "verify", recording}).exitStatus == 0);
}
