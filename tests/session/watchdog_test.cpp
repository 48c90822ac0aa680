// A rank without progress: it is named with the place where it stands, and ends the run where that is asked
// for.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/session/disturbed_run.h"
#include "tests/session/probe_run.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;

TEST_CASE("A rank that stands still ends the run after the watchdog's time", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result =
      disturb(dumpProbe(run, 2, {"slow"}, {"--steps", "1000", "--watchdog", "3", "--watchdog-kill"}), run, 1,
              [](pid_t pid) { kill(pid, SIGSTOP); });
  INFO(result.out << result.err);
  CHECK_FALSE(result.timedOut);
  CHECK(result.exitStatus != 0);
  const dump::RunEnd end = endOf(run);
  CHECK(end.state == "failed");
  CHECK(end.rank == 1);
  CHECK_THAT(result.err, Catch::Contains("rank 1 hangs") && Catch::Contains("no progress for 3 s"));
  CHECK(completeIterations(run, 0) >= 3);
  CHECK(completeIterations(run, 1) >= 3);
  checkReadable(run);
}

TEST_CASE("A rank that stands still for a while is named, and ends nothing", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result =
      disturb(dumpProbe(run, 2, {"slow"}, {"--steps", "20", "--watchdog", "2"}), run, 1, [](pid_t pid) {
        kill(pid, SIGSTOP);
        std::this_thread::sleep_for(std::chrono::seconds(4));
        kill(pid, SIGCONT);
      });
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  CHECK(count(result.err, "rank 1 hangs") == 1);
  CHECK(count(result.err, "training goes on") == 1);
  CHECK(completeIterations(run, 0) == 20);
}

TEST_CASE("A rank that waits for something of its own is named, not those that wait for it",
          "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(dumpProbe(run, 2, {"pause@1"}, {"--watchdog", "2", "--watchdog-kill"}));
  INFO(result.out << result.err);
  CHECK(result.exitStatus != 0);
  CHECK(endOf(run).rank == 1);
  CHECK_THAT(result.err, Catch::Contains("rank 1 stands still after iteration 2 (in the program's own code), "
                                         "rank 0 waits at grad/probe/Allreduce"));
}

}  // namespace msdbg::test
