// A program that starts its ranks itself, as torchrun does: here a shell script, with mpirun for several
// ranks.
#include <signal.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/session/disturbed_run.h"
#include "tests/session/probe_run.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using Catch::Contains;

namespace {

// The script's last command is not the probe: a shell would become that.
std::vector<std::string> dumpScript(const fs::path& run, const std::string& script,
                                    std::vector<std::string> options = {}) {
  std::vector<std::string> words = {kMsdbg, "dump", "-o", run.string(), "--threads", "1"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "sh", "-c", script + "; exit $?"});
  return words;
}

std::string onTwoRanks(const std::string& ending) {
  return "mpirun --allow-run-as-root --oversubscribe -n 2 " + kProbe + " " + ending;
}

}  // namespace

TEST_CASE("The only rank of a script that starts it ends as it would by itself, and is named", "[session]") {
  struct Ending {
    const char *how, *state, *message;
    int status;
  };
  const TempDir folder;
  for (const Ending& ending :
       {Ending{"ok", "finished", "", 0},
        {"return3", "failed", "the program ended with status 3", 3},
        {"throw", "failed", "the program failed after iteration 2: the data is gone", 1},
        {"kill", "killed", "is gone after iteration 2 without a word", 137}}) {
    CAPTURE(ending.how);
    const fs::path run = folder / (std::string(ending.how) + ".msdbg");
    const RunResult result = runCommand(dumpScript(run, kProbe + " " + ending.how));
    INFO(result.out << result.err);
    CHECK(result.exitStatus == ending.status);
    CHECK(endOf(run).state == ending.state);
    CHECK_THAT(endOf(run).message, Contains(ending.message));
    CHECK_FALSE(fs::exists(run / "rank_0/status"));
    checkReadable(run);
  }
}

TEST_CASE("Ranks that a program starts are all recorded, and run.json has their number", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  std::vector<std::string> command = dumpScript(run, onTwoRanks("ok"), {"--json"});
  const RunResult result = runCommand(command);
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  CHECK(dump::readRunInfo(run)->ranks == 2);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["ranks"] == 2);
  CHECK(json["iterations"] == 6);
  CHECK(completeIterations(run, 1) == 6);
  checkReadable(run);
}

TEST_CASE("Of ranks that a program starts the one that was lost first is named", "[session][slow]") {
  const TempDir folder;
  const fs::path killed = folder / "killed.msdbg", failed = folder / "failed.msdbg";
  const RunResult kill = runCommand(dumpScript(killed, onTwoRanks("kill@1")));
  INFO(kill.out << kill.err);
  CHECK(kill.exitStatus != 0);
  CHECK(endOf(killed).state == "killed");
  CHECK(endOf(killed).rank == 1);
  CHECK(endOf(killed).iteration == 2);
  CHECK_THAT(endOf(killed).message, Catch::StartsWith("rank 1 (process ") && Contains("after iteration 2"));
  const RunResult fail = runCommand(dumpScript(failed, onTwoRanks("throw@1")));
  INFO(fail.out << fail.err);
  CHECK(fail.exitStatus != 0);
  CHECK(endOf(failed).message == "rank 1 failed after iteration 2: the data is gone");
  for (const fs::path& run : {killed, failed}) {
    CHECK_FALSE(fs::exists(run / "rank_0/status"));
    checkReadable(run);
  }
}

// The shell dies at once, the rank commits first: msdbg waits for it.
TEST_CASE("A signal to msdbg dump reaches ranks that its program has started, and they are waited for",
          "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const std::vector<std::string> command = dumpScript(run, kProbe + " slow --steps 10000");
  std::string line = "exec";
  for (const std::string& word : command) line += " '" + word + "'";
  const RunResult result =
      together(folder.path(), "( " + line + " )", run / "rank_0/segment_000000.h5", "kill -TERM $!");
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 128 + SIGTERM);
  CHECK(endOf(run).state == "stopped");
  CHECK(completeIterations(run, 0) >= 3);
  checkReadable(run);
}

TEST_CASE("A stopped rank that its program has started is ended by --watchdog-kill", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result =
      runCommand(dumpScript(run, kProbe + " hang", {"--watchdog", "1", "--watchdog-kill"}));
  INFO(result.out << result.err);
  CHECK_THAT(endOf(run).message, Contains("hangs") && Contains("no progress for 1 s"));
  checkReadable(run);
}

}  // namespace msdbg::test
