// msdbg arm: what is asked of a run that is being recorded, and what it refuses. How PyTorch's recorder
// follows a request: tests/python/test_arm.py.
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/cli/arm_request.h"
#include "dump/run_info.h"
#include "tests/cli/recorded_run.h"
#include "tests/session/disturbed_run.h"
#include "tests/session/probe_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using app::ArmedRange;
using app::armedRanges;
using app::ArmRequest;
using Catch::Contains;

namespace {

// The probe as if it were PyTorch, stopped in iteration 3: what is recorded last is iteration 2.
void besideStoppedRun(const fs::path& run, const std::function<void()>& act) {
  disturb(dumpProbe(run, 1, {"slow", "--steps", "10000"}), run, 0, [&](pid_t pid) {
    kill(pid, SIGSTOP);
    auto info = dump::readRunInfo(run);
    REQUIRE(info.ok());
    info->libraries.emplace_back("torch", "2.15.0");
    REQUIRE(dump::writeRunInfo(run, *info).ok());
    act();
    kill(pid, SIGTERM), kill(pid, SIGCONT);
  });
}

RunResult arm(const fs::path& run, std::vector<std::string> words) {
  words.insert(words.begin(), {"arm", run.string()});
  return runMsdbg(words);
}

}  // namespace

TEST_CASE("Iterations to come are given from the first possible one on, or as they are", "[cli]") {
  using Ranges = std::vector<ArmedRange>;
  CHECK(*armedRanges("+2-+4", "ops", 100) == Ranges{{102, 104, "ops"}});
  CHECK(*armedRanges("+0", "modules", 100) == Ranges{{100, 100, "modules"}});
  CHECK(*armedRanges("110-120,200,+300-+301", "ops", 100) ==
        Ranges{{110, 120, "ops"}, {200, 200, "ops"}, {400, 401, "ops"}});
  CHECK(*armedRanges("+2-110", "ops", 100) == Ranges{{102, 110, "ops"}});
  for (const char* wrong :
       {"", "x", "+", "+-4", "5-", "-5", "1-2-3", "+4-+2", "+2-90", "1.5", "+9999999999"}) {
    CAPTURE(wrong);
    REQUIRE_FALSE(armedRanges(wrong, "ops", 100).ok());
    CHECK_THAT(armedRanges(wrong, "ops", 100).error().message(), Contains("no range of iterations to come"));
  }
  CHECK_THAT(armedRanges("99-120", "ops", 100).error().message(),
             Contains("iteration 99 is too near or over: the first that all ranks can begin at is 100"));
}

TEST_CASE("A request lies in the run for its ranks, and says which iterations it means", "[cli]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  besideStoppedRun(run, [&] {
    const RunResult json = arm(run, {"--level", "ops", "--iterations", "+2-+4", "--json"});
    INFO(json.out << json.err);
    CHECK(json.exitStatus == 0);
    const auto told = nlohmann::ordered_json::parse(json.out);
    checkGolden("arm.keys", keysOf(told));
    const std::int64_t first =
        told["newest_iteration"].get<std::int64_t>() + told["margin"].get<std::int64_t>() + 2;
    CHECK(told["margin"] == 2);
    CHECK(ArmRequest::read(run)->ranges == std::vector<ArmedRange>{{first, first + 2, "ops"}});
    const RunResult text = arm(run, {"--level", "modules", "--iterations", "+5", "--margin", "10"});
    CHECK(text.exitStatus == 0);
    checkGolden("arm.txt", shapeOf(text.out));
    // What may have begun when the ranks see the second request stays.
    CHECK(ArmRequest::read(run)->ranges ==
          std::vector<ArmedRange>{{first, first + 2, "ops"}, {first + 11, first + 11, "modules"}});
    CHECK(arm(run, {"--cancel"}).out.find("nothing is asked for any more") != std::string::npos);
    CHECK(ArmRequest::read(run)->ranges.empty());
  });
}

TEST_CASE("What is not PyTorch, not recorded any more or no request is refused", "[cli]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  disturb(dumpProbe(run, 1, {"slow", "--steps", "10000"}), run, 0, [&](pid_t pid) {
    CHECK_THAT(arm(run, {}).err, Contains("no run of PyTorch"));
    kill(pid, SIGTERM);
  });
  besideStoppedRun(folder / "torch.msdbg", [&] {
    const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
      const RunResult result = arm(folder / "torch.msdbg", words);
      CHECK(result.exitStatus == 2);
      CHECK_THAT(result.err, Contains(why));
    };
    refused({"--level", "deep"}, "there are train, modules or ops");
    refused({"--iterations", "0-5"}, "too near or over");
    refused({"--iterations", "later"}, "no range of iterations");
    refused({"--margin", "0"}, "at least 1");
    refused({"--cancel", "--iterations", "+1"}, "--cancel");
    CHECK_FALSE(fs::exists(folder / "torch.msdbg/arm.json"));
    std::ofstream(folder / "torch.msdbg/arm.json") << "{\"schema\": \"msdbg.arm/2\"}";
    CHECK_THAT(arm(folder / "torch.msdbg", {}).err,
               Contains("no request of msdbg arm; take it back with --cancel"));
    CHECK(arm(folder / "torch.msdbg", {"--cancel"}).exitStatus == 0);
  });
  CHECK_THAT(arm(folder / "torch.msdbg", {}).err, Contains("is not being recorded"));
  CHECK(arm(folder / "none.msdbg", {}).exitStatus == 1);
}

}  // namespace msdbg::test
