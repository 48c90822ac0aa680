// msdbg info --follow beside a real recording.
#include <catch2/catch.hpp>
#include <future>
#include <sstream>
#include <thread>

#include "tests/cli/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

// Started when run.json is there: before there is a graph, as a user does it.
RunResult followed(const TempDir& folder, std::vector<std::string> options) {
  const std::string run = folder / "run.msdbg";
  auto dumped = std::async(std::launch::async, [&] {
    return runMsdbg({"dump", "mlp", "-o", run, "-n", "2", "--threads", "1", "--steps", "40", "--batch", "8"});
  });
  while (!fs::exists(run + "/run.json")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  options.insert(options.begin(), {"info", run, "--follow"});
  RunResult result = runMsdbg(options);
  CHECK(dumped.get().exitStatus == 0);
  return result;
}

}  // namespace

TEST_CASE("info --follow prints every iteration of every rank once, and how the run ended", "[cli]") {
  const TempDir folder;
  const RunResult result = followed(folder, {});
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  for (int rank = 0; rank < 2; ++rank) {
    for (int iteration = 0; iteration < 40; ++iteration) {
      char line[64];
      snprintf(line, sizeof line, "iteration %6d   rank %d   loss ", iteration, rank);
      const std::size_t first = result.out.find(line);
      REQUIRE(first != std::string::npos);
      CHECK(result.out.find(line, first + 1) == std::string::npos);
    }
  }
  CHECK_THAT(result.out, Catch::EndsWith("run.msdbg finished\n"));
}

TEST_CASE("info --follow --json gives a document for each iteration, in order for each rank", "[cli]") {
  const TempDir folder;
  const RunResult result = followed(folder, {"--json"});
  CHECK(result.exitStatus == 0);
  std::istringstream lines(result.out);
  std::int64_t next[2] = {0, 0};
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    CHECK(json["schema"] == "info.iteration/1");
    CHECK(json["iteration"] == next[json["rank"].get<int>()]++);
    CHECK(json["scalars"]["loss"].is_number());
  }
  CHECK(next[0] == 40);
  CHECK(next[1] == 40);
}

}  // namespace msdbg::test
