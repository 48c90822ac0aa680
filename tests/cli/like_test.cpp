// `msdbg dump --dry-run --like RUN`: what is told of a training that would be long, and whether it is true.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::test;
using Catch::Contains;
using nlohmann::json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

// Two ranks of a training without a framework: 58 tensors. Returns what it printed.
std::string train(const fs::path& run, const std::string& maxBytes, const std::string& iterations,
                  const std::string& stepMs) {
  const RunResult result = runCommand(
      {(buildDir() / "tests/synthetic_training").string(), run.string(), "2", "8", iterations, stepMs, "2"},
      {.environment = {{"MSDBG_DUMP_OPTIONS", R"({"policy":"stats","max_bytes":)" + maxBytes + "}"}}});
  REQUIRE(result.exitStatus == 0);
  return result.out;
}

// Of "500 iterations: 24556 kB", the second of its lines less the first.
std::int64_t growthKilobytes(const std::string& printed) {
  std::istringstream lines(printed);
  std::int64_t iterations = 0, first = 0, last = 0;
  std::string word;
  lines >> iterations >> word >> first >> word >> iterations >> word >> last;
  REQUIRE(first > 0);
  return last - first;
}

RunResult dry(const fs::path& like, Words more) {
  Words words = {"dump", "--dry-run", "--like", like.string()};
  words.insert(words.end(), more.begin(), more.end());
  return runMsdbg(words);
}

json dryJson(const fs::path& like, Words more) {
  more.insert(more.begin(), "--json");
  const RunResult result = dry(like, more);
  REQUIRE(result.exitStatus == 0);
  return json::parse(result.out);
}

std::uint64_t bytesIn(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

}  // namespace

TEST_CASE("A run of a few steps tells what a long training on many ranks will take", "[cli]") {
  const TempDir folder;
  const fs::path shortRun = folder / "short.msdbg";
  train(shortRun, "1000000000", "5", "20");
  const json plan =
      dryJson(shortRun, {"-n", "64", "--steps", "100000", "--max-size", "2GB", "--", "torchrun", "t.py"});
  CHECK(plan["run"] == "t-1.msdbg");
  CHECK(plan["ranks"] == 64);
  CHECK(plan["steps"] == 100'000);
  CHECK(plan["level"] == "train");
  CHECK(plan["free_bytes"].is_null());  // it will not lie here
  CHECK(plan["expected"]["tensors"] == 58);
  CHECK(plan["expected"]["iterations"] == 100'000);
  CHECK(plan["expected"]["statistics_bytes"] == 184ull * 58 * 64 * 100'000);
  CHECK(plan["expected"]["thinned"].size() >= 3);
  const json& like = plan["like"];
  CHECK(like["iterations"] == 5);
  CHECK(like["step_seconds"].get<double>() == Approx(0.02).epsilon(0.5));
  CHECK(like["folder_bytes"].get<double>() < 2e9);
  CHECK(like["folder_bytes"].get<double>() > 1.4e9);
  CHECK(like["device_bytes"] == 0);
  CHECK(like["fsyncs"].get<double>() > 64 * 2000);
  const RunResult text = dry(shortRun, {"--steps", "1000"});
  CHECK(text.exitStatus == 0);
  CHECK_THAT(text.out, Contains("planning  2 ranks of 1,000 iterations, like ") &&
                           Contains("(level train), 5 iterations") && Contains("folder    ") &&
                           Contains("of graphs and sources") && Contains("device    no memory"));
  // of all values, as they were measured
  CHECK(dryJson(shortRun, {"--steps", "10", "--record", "*weight=full"})["expected"]["value_bytes"] ==
        2 * 10 * 8 * 64);
}

TEST_CASE("What cannot be planned from a run is refused, and what to do is said", "[cli]") {
  const TempDir folder;
  const fs::path shortRun = folder / "short.msdbg";
  train(shortRun, "1000000000", "3", "1");
  const auto refused = [](const RunResult& result) {
    CHECK(result.exitStatus == 2);
    return result.err;
  };
  CHECK_THAT(refused(dry(shortRun, {})), Contains("give --steps N"));
  CHECK_THAT(refused(dry(shortRun, {"mlp", "--steps", "3"})), Contains("--like is for programs"));
  CHECK_THAT(refused(dry(shortRun, {"--steps", "3", "--level", "ops"})),
             Contains("recorded at level train and cannot tell of level ops"));
  CHECK_THAT(refused(dry(shortRun, {"--steps", "3", "--tensors", "nothing*"})), Contains("nothing*"));
  CHECK_THAT(refused(runMsdbg({"dump", "--like", shortRun.string(), "--steps", "3"})), Contains("--dry-run"));
  CHECK(dry(folder / "none.msdbg", {"--steps", "3"}).exitStatus == 1);
  CHECK_THAT(
      refused(runMsdbg({"dump", "--dry-run", "-n", "8", "--steps", "70", "--", "python3", "my train.py"})),
      Contains("`msdbg dump --dry-run --like short.msdbg -n 8 --steps 70 -- python3 'my train.py'`"));
  CHECK_THAT(runMsdbg({"dump", "--dry-run", "--", "python3", "train.py"}).out,
             Contains("note: what a program records is known once it runs"));
}

TEST_CASE("What a dry run tells of a long recording is then on the disk", "[cli][slow]") {
  const TempDir folder;
  const fs::path shortRun = folder / "short.msdbg", longRun = folder / "long.msdbg";
  train(shortRun, "1000000000", "5", "4");
  const json plan = dryJson(shortRun, {"-n", "2", "--steps", "5000", "--max-size", "16MB"});
  const std::string memory = train(longRun, "16000000", "5000", "4");
  CAPTURE(memory);
  CHECK(growthKilobytes(memory) < 8000);  // from iteration 500 on: the heap that merging a file of 1 MB takes
  const auto bytes = static_cast<double>(bytesIn(longRun));
  CAPTURE(bytes, plan["like"].dump());
  CHECK(bytes < 16e6);
  CHECK(plan["like"]["folder_bytes"].get<double>() == Approx(bytes).epsilon(0.15));
  const json info = json::parse(runMsdbg({"info", longRun.string(), "--json"}).out);
  for (const json& rank : info["ranks"]) {
    CHECK(rank["count"] == 5000);
    const double whole = rank["thinned"]["whole"], expected = plan["expected"]["thinned"][0]["iterations"];
    CHECK(whole < 1.2 * expected);
    CHECK(whole > 0.5 * expected);  // rows thin by segments: a second's 250 here
    CHECK(rank["thinned"]["parts"].size() >= 2);
  }
  CHECK(runMsdbg({"verify", longRun.string()}).exitStatus == 0);
  CHECK(runMsdbg({"check", longRun.string()}).exitStatus != 1);
}
