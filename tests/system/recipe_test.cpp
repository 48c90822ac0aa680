// The guide's Python recipe, extracted and run with stock h5py on a recorded run: the lines that it draws
// are the numbers that msdbg itself prints.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/documents.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::test;
using nlohmann::json;

namespace {

// Runs the recipe as it stands, then prints what lies in its axes.
constexpr const char* kDrawn = R"(
import json, sys
code = open("mean.py").read()
exec(compile(code, "mean.py", "exec"))
import matplotlib.pyplot as plt
print(json.dumps([{"x": [int(i) for i in l.get_xdata()], "y": [float(v) for v in l.get_ydata()]}
                  for l in plt.gca().get_lines()]))
)";

bool missing(const std::string& module) {
  if (runCommand({"/usr/bin/python3", "-c", "import " + module}).exitStatus == 0) return false;
  WARN("skipped: python3-" << module << " is not installed");
  return true;
}

json statsOf(const std::string& run, const std::string& tensor) {
  const RunResult result = runMsdbg({"stats", run, "--tensor", tensor, "--json"});
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("The guide's recipe says what it does not find, in a line") {
  if (missing("h5py") || missing("matplotlib")) return;
  const TempDir folder;
  const std::string run = (folder / "run.msdbg").string(), policy = GENERATE("stats", "record");
  REQUIRE(
      runMsdbg({"dump", "mlp", "--steps", "3", "--threads", "1", "--policy", policy, "-o", run}).exitStatus ==
      0);
  std::ofstream(folder / "mean.py") << documentBlock("resources/guide/finding.md", "mean.py", "python");
  const std::string tensor = policy == "stats" ? "network/fc1/Gem-op1:0" : "network/fc1/Gemm-op1:0";
  const RunResult result =
      runCommand({"/usr/bin/python3", "mean.py", run, tensor},
                 {.environment = {{"MPLBACKEND", "Agg"}, {"MPLCONFIGDIR", folder.path().string()}},
                  .folder = folder.path()});
  CAPTURE(policy, result.out, result.err);
  CHECK(result.exitStatus == 1);
  CHECK(std::ranges::count(result.err, '\n') == 1);
  CHECK_THAT(result.err, Catch::Contains("rank_0 has no statistics of " + tensor));
  CHECK_FALSE(std::filesystem::exists(folder / "mean.png"));
}

TEST_CASE("The guide's recipe plots with h5py the means that msdbg stats prints") {
  if (missing("h5py") || missing("matplotlib")) return;
  const TempDir folder;
  const std::string run = (folder / "run.msdbg").string(), tensor = "network/fc1/Gemm-op1:0";
  REQUIRE(runMsdbg({"dump", "mlp", "--steps", "5", "--threads", "1", "--policy", "stats", "-o", run})
              .exitStatus == 0);
  std::ofstream(folder / "mean.py") << documentBlock("resources/guide/finding.md", "mean.py", "python");
  const RunResult drawn =
      runCommand({"/usr/bin/python3", "-c", kDrawn, run, tensor},
                 {.environment = {{"MPLBACKEND", "Agg"}, {"MPLCONFIGDIR", folder.path().string()}},
                  .folder = folder.path()});
  INFO(drawn.out << drawn.err);
  REQUIRE(drawn.exitStatus == 0);
  CHECK(std::filesystem::file_size(folder / "mean.png") > 1000);
  const json lines = json::parse(drawn.out), stats = statsOf(run, tensor);
  REQUIRE(lines.size() == 1);
  std::vector<int> iterations;
  std::vector<double> means;
  for (const json& row : stats.at("tensors").at(0).at("rows")) {
    iterations.push_back(row.at("iteration"));
    means.push_back(row.at("statistics").at("mean"));
  }
  CHECK(iterations == std::vector{0, 1, 2, 3, 4});
  CHECK(lines[0].at("x") == iterations);
  CHECK(lines[0].at("y") == means);
}
