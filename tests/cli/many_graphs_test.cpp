// The commands on a run whose ranks and iterations have graphs of their own, of another framework's
// operators.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/replay/recorded_stages.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::test;
using core::Iteration;
using core::Rank;
using Json = nlohmann::json;

namespace {

std::string outputOf(const std::vector<std::string>& arguments, int exitStatus = 0) {
  const RunResult result = runMsdbg(arguments);
  INFO(result.out << result.err);
  CHECK(result.exitStatus == exitStatus);
  return result.out;
}

}  // namespace

TEST_CASE("Every command answers of a run with several graphs") {
  const TempDir folder;
  Stages stages(5, 3);
  stages.record(Rank(0), Iteration(4), "net/mul.Tensor-op1", {-1, 1});
  stages.record(Rank(2), Iteration(4), "net/recv_-op1", {-1, 1});
  stages.record(Rank(2), Iteration(4), "net/log-op1", {NAN, 0});
  stages.record(Rank(2), Iteration(4), "net/div.Tensor-op1", {NAN, 1});
  const std::string run = (folder / "stages.msdbg").string();
  recordStages(stages, run);

  const Json check = Json::parse(outputOf({"check", run, "--json"}, 3));
  CHECK(check["first"]["node"] == "net/log-op1");
  CHECK(check["first"]["rank"] == 2);
  CHECK(check["first"]["iteration"] == 4);
  CHECK(check["first"]["order"] == 8);  // sixth after its arrival, which comes after two nodes of rank 0
  CHECK_THAT(outputOf({"check", run, "--why"}, 3),
             Catch::Contains("net/log-op1") && Catch::Contains("train.py:9") && Catch::Contains("rank 2"));

  CHECK_THAT(outputOf({"show", run, "--tensor", "net/log-op1", "--rank", "2", "--iteration", "4"}),
             Catch::Contains("nan"));
  const RunResult absent =
      runMsdbg({"show", run, "--tensor", "net/log-op1", "--rank", "0", "--iteration", "4"});
  CHECK(absent.exitStatus == 4);
  CHECK_THAT(absent.err + absent.out,
             Catch::Contains("rank 0 does not compute net/log-op1:0 in iteration 4; ranks 2-3 do") &&
                 !Catch::Contains("nor computed again"));
  CHECK_THAT(outputOf({"stats", run, "--tensor", "net/log-op1", "--ranks", "2"}),
             Catch::Contains("3") && Catch::Contains("4"));
  CHECK_THAT(outputOf({"search", run, "train.py:9"}), Catch::Contains("net/log-op1"));
  CHECK_THAT(outputOf({"search", run, "aten.sin"}),
             Catch::Contains("net/sin-op1") && Catch::Contains("net/sin-op3"));
  CHECK_THAT(outputOf({"info", run}), Catch::Contains("4 ranks"));
  outputOf({"verify", run});
}
