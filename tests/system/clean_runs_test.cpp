// Runs without a planted fault must give no fault: every model, five seeds, digits and real images, one and
// two ranks.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::test;
using nlohmann::json;

namespace {

std::string mnistFolder() {
  const char* given = std::getenv("MSDBG_MNIST_DIR");
  return given ? given : (sourceDir() / "../shared/data/mnist").lexically_normal().string();
}

void checkClean(const std::string& model, const std::string& data, int seed, int ranks,
                const std::string& run) {
  INFO("msdbg dump " << model << " -n " << ranks << " --seed " << seed << " --data " << data
                     << " --steps 60 --policy stats");
  RunOptions options;
  options.timeout = std::chrono::seconds(240);
  const RunResult dumped =
      runMsdbg({"dump", model, "-n", std::to_string(ranks), "--seed", std::to_string(seed), "--data", data,
                "--steps", "60", "--policy", "stats", "--force", "-o", run},
               options);
  INFO(dumped.err);
  REQUIRE(dumped.exitStatus == 0);
  const RunResult checked = runMsdbg({"check", run, "--json"}, options);
  const json report = json::parse(checked.out);
  INFO(report.at("first").dump(1));
  CHECK(checked.exitStatus == 0);
  CHECK(report.at("first").is_null());
  CHECK(report.at("hits").empty());
}

void allRuns(const std::string& model) {
  TempDir folder;
  std::vector<std::string> data = {"digits"};
  if (std::filesystem::exists(mnistFolder()))
    data.push_back("mnist:" + mnistFolder());
  else
    WARN("no real images in " << mnistFolder() << ": digits only");
  for (const std::string& d : data)
    for (int seed = 1; seed <= 5; ++seed)
      for (int ranks = 1; ranks <= 2; ++ranks)
        checkClean(model, d, seed, ranks, (folder / "clean.msdbg").string());
}

}  // namespace

TEST_CASE("Clean runs of mlp give no fault", "[slow]") { allRuns("mlp"); }
TEST_CASE("Clean runs of lenet5 give no fault", "[slow]") { allRuns("lenet5"); }
TEST_CASE("Clean runs of alexnet give no fault", "[slow]") { allRuns("alexnet"); }
