// The program's own numbers of its steps, on the command line.
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

// Five iterations, the steps 41000 to 41004 of the program; a NaN in the last.
struct Recorded {
  TempDir folder;
  std::string run = (folder / "stages.msdbg").string();
  explicit Recorded(std::optional<int> firstStep = 41000) {
    Stages stages(5, 3);
    stages.record(Rank(2), Iteration(4), "net/log-op1", {NAN, 0});
    recordStages(stages, run, firstStep);
  }
  std::string out(std::vector<std::string> arguments, int exitStatus = 0) const {
    arguments.insert(arguments.begin() + 1, run);
    const RunResult result = runMsdbg(arguments);
    INFO(result.out << result.err);
    CHECK(result.exitStatus == exitStatus);
    return result.out + result.err;
  }
  Json json(std::vector<std::string> arguments, int exitStatus = 0) const {
    arguments.emplace_back("--json");
    return Json::parse(out(std::move(arguments), exitStatus));
  }
};

}  // namespace

TEST_CASE("Wherever an iteration is printed, the program's own number of it is too") {
  const Recorded made;
  CHECK_THAT(made.out({"check"}, 3), Catch::Contains("iteration 4 (step 41004)"));
  CHECK(made.json({"check"}, 3)["first"]["step"] == 41004);
  CHECK_THAT(made.out({"info"}), Catch::Contains("0-4 (steps 41000-41004)"));
  const std::vector<std::string> show = {"show", "--tensor", "net/log-op1", "--rank", "2"};
  CHECK_THAT(made.out(show), Catch::Contains("iteration 4 (step 41004)"));
  CHECK(made.json(show)["step"] == 41004);
  CHECK_THAT(made.out({"stats", "--tensor", "net/sin-op1"}), Catch::Contains("3 (step 41003)"));
  CHECK(made.json({"stats", "--tensor", "net/sin-op1"})["tensors"][0]["rows"][0]["step"] == 41000);
  CHECK_THAT(made.out({"history", "--tensor", "net/sin-op1", "--index", "0"}),
             Catch::Contains("2 (step 41002)"));
  CHECK(made.json({"history", "--tensor", "net/sin-op1", "--index", "0"})["rows"][0]["step"] == 41000);
  CHECK_THAT(made.out({"diff", "--iterations", "3,4"}, 3), Catch::Contains("(step 41003)"));
}

TEST_CASE("Places are asked for by the program's own numbers") {
  const Recorded made;
  const auto rows = [&](const std::string& steps) {
    const Json stats =
        made.json({"stats", "--tensor", "net/mul.Tensor-op1", "--ranks", "0", "--steps", steps});
    std::string told;
    for (const Json& row : stats["tensors"][0]["rows"])
      told += std::to_string(row["iteration"].get<int>()) + " ";
    return told;
  };
  CHECK(rows("41001") == "1 ");
  CHECK(rows("41001-41002,41004-") == "1 2 4 ");
  CHECK(made.json({"show", "--tensor", "net/mul.Tensor-op1", "--step", "41003"})["iteration"] == 3);
  CHECK(made.json({"check", "--steps", "41000-41003"})["first"].is_null());
  CHECK(made.json({"diff", "--steps", "41002,41003"}, 3)["b"] == "iteration 3");
}

TEST_CASE("A step that is not there, and a program that told none, are said") {
  const Recorded made;
  const auto error = [](const Recorded& of, const std::vector<std::string>& arguments) {
    return of.out(arguments, 2);
  };
  CHECK_THAT(error(made, {"show", "--tensor", "net/mul.Tensor-op1", "--step", "7"}),
             Catch::Contains("--step 7: no such step is recorded") && Catch::Contains("from 41000 to 41004"));
  CHECK_THAT(error(made, {"stats", "--tensor", "net/mul.Tensor-op1", "--steps", "1-5"}),
             Catch::Contains("--steps 1-5: no such step"));
  CHECK_THAT(error(made, {"show", "--tensor", "net/mul.Tensor-op1", "--step", "41001", "--iteration", "1"}),
             Catch::Contains("--step and --iteration: give one of them"));
  const Recorded none(std::nullopt);
  CHECK_THAT(error(none, {"show", "--tensor", "net/mul.Tensor-op1", "--step", "7"}),
             Catch::Contains("gave its steps no numbers (msdbg.step(n)"));
  CHECK_FALSE(none.json({"check"}, 3)["first"].contains("step"));
}
