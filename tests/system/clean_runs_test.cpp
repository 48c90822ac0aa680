// Runs without a planted fault must give no fault: every model, five seeds, digits and real images, one and
// two ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "core_engine/base/text.h"
#include "tests/support/run_command.h"
#include "tests/support/sampling.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::test;
using nlohmann::json;

namespace {

std::string mnistFolder() {
  const char* given = std::getenv("MSDBG_MNIST_DIR");
  return given ? given : (sourceDir() / "../shared/data/mnist").lexically_normal().string();
}

/// A model, and what makes 60 steps of it quick.
struct Trained {
  std::string model;
  std::vector<std::string> options = {};
};

void checkClean(const Trained& trained, const std::string& data, int seed, int ranks,
                const std::string& run) {
  std::vector<std::string> command = {"dump",     trained.model,
                                      "-n",       std::to_string(ranks),
                                      "--seed",   std::to_string(seed),
                                      "--data",   data,
                                      "--steps",  "60",
                                      "--policy", "stats",
                                      "--force",  "-o",
                                      run};
  command.insert(command.end(), trained.options.begin(), trained.options.end());
  INFO("msdbg " << core::join(command, " "));
  RunOptions options;
  options.timeout = std::chrono::seconds(240);
  const RunResult dumped = runMsdbg(command, options);
  INFO(dumped.err);
  REQUIRE(dumped.exitStatus == 0);
  const RunResult checked = runMsdbg({"check", run, "--json"}, options);
  const json report = json::parse(checked.out);
  INFO(report.at("first").dump(1));
  CHECK(checked.exitStatus == 0);
  CHECK(report.at("first").is_null());
  CHECK(report.at("hits").empty());
}

/// Three of them are drawn, one for two ranks at least; all by `./dev test all`.
void allRuns(const Trained& trained, const std::vector<std::string>& data) {
  struct Run {
    std::string data;
    int seed, ranks;
  };
  std::vector<Run> runs;
  for (const std::string& d : data)
    for (int seed = 1; seed <= 5; ++seed)
      for (int ranks = 1; ranks <= 2; ++ranks) runs.push_back({d, seed, ranks});
  if (!testAll()) {
    std::mt19937_64 random(drawnSeed(trained.model));
    std::ranges::shuffle(runs, random);
    std::ranges::stable_partition(runs, [](const Run& run) { return run.ranks == 2; });
    runs.erase(runs.begin() + 1, runs.end() - 2);
  }
  TempDir folder;
  for (const Run& run : runs)
    checkClean(trained, run.data, run.seed, run.ranks, (folder / "clean.msdbg").string());
}

std::vector<std::string> images() {
  std::vector<std::string> data = {"digits"};
  if (std::filesystem::exists(mnistFolder()))
    data.push_back("mnist:" + mnistFolder());
  else
    WARN("no real images in " << mnistFolder() << ": digits only");
  return data;
}

std::vector<std::string> texts() {
  std::vector<std::string> data = {"words"};
  const auto file = (sourceDir() / "../shared/data/tinyshakespeare/input.txt").lexically_normal();
  if (std::filesystem::exists(file))
    data.push_back("text:" + file.string());
  else
    WARN("no real text in " << file << ": words only");
  return data;
}

}  // namespace

TEST_CASE("Clean runs of mlp give no fault", "[slow]") { allRuns({"mlp"}, images()); }
TEST_CASE("Clean runs of lenet5 give no fault", "[slow]") { allRuns({"lenet5"}, images()); }
TEST_CASE("Clean runs of alexnet give no fault", "[slow]") { allRuns({"alexnet"}, images()); }
TEST_CASE("Clean runs of resnet20 give no fault", "[slow]") {
  allRuns({"resnet20", {"--batch", "16"}}, images());
}
TEST_CASE("Clean runs of gpt give no fault", "[slow]") { allRuns({"gpt", {"--batch", "4"}}, texts()); }
