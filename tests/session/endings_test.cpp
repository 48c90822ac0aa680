// However a training program ends, its recording is readable and run.json says how it ended; under `msdbg
// dump`, by hand, on one rank and on two.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>

#include "core_engine/base/mpirun.h"
#include "dump/reader/run_reader.h"
#include "dump/writer/rank_status.h"
#include "tests/session/disturbed_run.h"
#include "tests/session/probe_run.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

TEST_CASE("A program that does well is recorded, and its output and status are its own", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(dumpProbe(run, 1, {"ok"}));
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  CHECK_THAT(result.out, Catch::Contains("trained\n") && Catch::Contains("msdbg check"));
  CHECK(endOf(run).state == "finished");
  CHECK(completeIterations(run, 0) == 6);
  CHECK_FALSE(fs::exists(run / "rank_0" / "status"));
}

TEST_CASE("The options of dump reach a program that knows nothing of them", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result =
      runCommand(dumpProbe(run, 1, {"ok"}, {"--steps", "4", "--seed", "7", "--every", "2"}));
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  CHECK(completeIterations(run, 0) == 2);
  const auto info = dump::readRunInfo(run);
  CHECK(info->seed == 7);
  CHECK(info->policy.every == 2);
}

TEST_CASE("The exit status of a program is passed on, and run.json has the reason", "[session]") {
  struct Ending {
    const char* how;
    int exitStatus;
    const char *state, *message;
    std::optional<int> signal;
  };
  const Ending endings[] = {
      {"throw", 1, "failed", "the data is gone", std::nullopt},
      {"throwlogic", 1, "failed", "std::logic_error: a mistake in the program", std::nullopt},
      {"throwrange", 1, "failed", "std::out_of_range: vector", std::nullopt},
      {"throwalloc", 1, "failed", "out of memory (std::bad_alloc)", std::nullopt},
      {"throwint", 1, "failed", "an exception of type int", std::nullopt},
      {"terminate", 134, "failed", "std::terminate was called", SIGABRT},
      {"caught", 4, "failed", "exception", std::nullopt},
      {"exit3", 3, "failed", "exit(3)", std::nullopt},
      {"return3", 3, "failed", "status 3", std::nullopt},
      {"_exit5", 5, "failed", "status 5", std::nullopt},
      {"fpe", 136, "killed", "8 (SIGFPE)", SIGFPE},
      {"segv", 139, "killed", "11 (SIGSEGV)", SIGSEGV},
      {"abort", 134, "killed", "6 (SIGABRT)", SIGABRT},
      {"overflow", 139, "killed", "11 (SIGSEGV)", SIGSEGV},
      {"kill", 137, "killed", "9 (SIGKILL)", SIGKILL},
  };
  for (const Ending& ending : endings) {
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    const RunResult result = runCommand(dumpProbe(run, 1, {ending.how}));
    CAPTURE(ending.how, result.out, result.err);
    CHECK(result.exitStatus == ending.exitStatus);
    const dump::RunEnd end = endOf(run);
    CHECK(end.state == ending.state);
    CHECK_THAT(end.message, Catch::Contains(ending.message));
    CHECK(end.signal == ending.signal);
    CHECK_THAT(result.err, Catch::Contains("msdbg: error: "));
    checkReadable(run);
    const bool atOnce = std::string(ending.how) == "kill" || std::string(ending.how) == "_exit5";
    if (!atOnce) CHECK(completeIterations(run, 0) >= 3);
  }
}

TEST_CASE("Whatever nobody catches is one sentence and status 1, recorded or not", "[session]") {
  for (const std::string how : {"throw", "throwlogic", "throwrange", "throwalloc", "throwint"}) {
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    for (const RunResult& result :
         {runCommand({kProbe, how}),
          runCommand({kProbe, how}, {.environment = {{"MSDBG_DUMP", run.string()}}})}) {
      CAPTURE(how, result.err);
      CHECK(result.exitStatus == 1);
      CHECK(count(result.err, "msdbg: error: ") == 1);
      CHECK_THAT(result.err, !Catch::Contains("terminate called"));
    }
    CHECK(endOf(run).state == "failed");
    CHECK(completeIterations(run, 0) == 3);
    checkReadable(run);
  }
}

TEST_CASE("With MSDBG_ABORT an uncaught exception aborts, for a debugger, and is recorded all the same",
          "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  RunOptions options;
  options.environment = {{"MSDBG_ABORT", "1"}, {"MSDBG_DUMP", run.string()}};
  options.folder = folder.path();  // a core dump goes with it
  for (const std::string how : {"throw", "throwint"}) {
    fs::remove_all(run);
    const RunResult result = runCommand({kProbe, how}, options);
    CAPTURE(how, result.err);
    CHECK(result.exitStatus == 134);
    CHECK_THAT(result.err, Catch::Contains("terminate called"));
    CHECK(endOf(run).state == "failed");
    CHECK(completeIterations(run, 0) == 3);
  }
}

TEST_CASE("A program that leaves by _exit(0) has not finished: nothing ended its Session", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(dumpProbe(run, 1, {"_exit0"}));
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 1);
  CHECK(endOf(run).state == "failed");
  CHECK(endOf(run).exitStatus == 0);
  CHECK_THAT(result.err, Catch::Contains("the program ended with status 0 after iteration 2 without ending "
                                         "its Session"));
}

TEST_CASE("A second Session in one program is refused, recorded or not", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  for (const RunResult& result : {runCommand({kProbe, "twice"}), runCommand(dumpProbe(run, 1, {"twice"}))}) {
    INFO(result.err);
    CHECK(result.exitStatus == 1);
    CHECK(count(result.err, "this program has a msdbg::Session already") == 1);
  }
  CHECK(endOf(run).state == "failed");
}

TEST_CASE("exit() loses nothing when segments were committed before", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(dumpProbe(run, 1, {"late"}));
  CHECK(result.exitStatus == 3);
  CHECK_THAT(result.err, !Catch::Contains("recording stopped"));
  CHECK(completeIterations(run, 0) == 4);
  checkReadable(run);
}

TEST_CASE("A program that ends itself by exit(0) has finished, and nothing is lost", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(dumpProbe(run, 1, {"exit0"}));
  CHECK(result.exitStatus == 0);
  CHECK(endOf(run).state == "finished");
  CHECK(endOf(run).exitStatus == 0);
  CHECK(completeIterations(run, 0) == 3);
  checkReadable(run);
}

TEST_CASE("Every signal that asks a program to end leaves all that was finished", "[session]") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU}) {
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    RunOptions options;
    options.environment = {{"MSDBG_DUMP", run.string()}};
    options.folder = folder.path();  // a core dump goes with it
    const RunResult result = disturb(
        {kProbe, "slow", "--steps", "1000"}, run, 0, [&](pid_t pid) { kill(pid, signal); }, options);
    CAPTURE(signal, result.out, result.err);
    CHECK(result.exitStatus == 128 + signal);
    CHECK(endOf(run).state == "stopped");
    CHECK(endOf(run).signal == signal);
    const auto own = (*dump::RunReader::open(run))->rankEnd(core::Rank(0));
    REQUIRE(own);
    CHECK(completeIterations(run, 0) >= own->iteration.value_or(0));
    CHECK(completeIterations(run, 0) >= 3);
    checkReadable(run);
  }
}

TEST_CASE("Every signal that asks msdbg dump to end stops the program, and run.json says so", "[session]") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    const TempDir folder;
    const RunResult result = disturbed(folder.path(), 1, "", "kill -" + std::to_string(signal) + " $!");
    CAPTURE(signal, result.out, result.err);
    CHECK(result.exitStatus == 128 + signal);
    CHECK(endOf(folder / "run.msdbg").signal == signal);
    CHECK(endOf(folder / "run.msdbg").state == "stopped");
    checkReadable(folder / "run.msdbg");
  }
}

TEST_CASE("Under nohup msdbg dump survives the end of its terminal", "[session]") {
  const TempDir folder;
  const RunResult result = together(
      folder.path(),
      "( trap '' HUP; exec " + kMsdbg + " dump -o run.msdbg --threads 1 -- " + kProbe + " slow --steps 20 )",
      "run.msdbg/rank_0/segment_000000.h5", "kill -HUP $!");
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  CHECK(endOf(folder / "run.msdbg").state == "finished");
  CHECK(completeIterations(folder / "run.msdbg", 0) == 20);
}

TEST_CASE("A signal that a program was started to ignore does not end it", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  RunOptions options;
  options.environment = {{"MSDBG_DUMP", run.string()}};
  const RunResult result = disturb(
      {"/bin/sh", "-c", "trap '' HUP INT; exec \"$0\" slow --steps 8", kProbe}, run, 0,
      [&](pid_t pid) {
        kill(pid, SIGHUP);
        kill(pid, SIGINT);
      },
      options);
  CHECK(result.exitStatus == 0);
  CHECK(endOf(run).state == "finished");
  CHECK(completeIterations(run, 0) == 8);
}

TEST_CASE("A recorder that fails costs the recording and the exit status, not the training", "[session]") {
  const TempDir folder;
  // Files may not grow beyond 40 KiB, as on a full disk; without the recorder SIGXFSZ would end the program.
  std::vector<std::string> limited = {"bash", "-c", "ulimit -f 40; exec \"$@\"", "bash"};
  std::vector<std::string> byDump = limited, byHand = limited;
  for (const std::string& word : dumpProbe(folder / "dump.msdbg", 1, {"ok"})) byDump.push_back(word);
  byHand.insert(byHand.end(), {kProbe, "ok"});
  // At once: each tries for seconds to write after all.
  auto byItself = std::async(std::launch::async, [&] {
    return runCommand(byHand, {.environment = {{"MSDBG_DUMP", (folder / "hand.msdbg").string()}}});
  });
  const RunResult dumped = runCommand(byDump);
  const RunResult direct = byItself.get();
  for (const RunResult& result : {dumped, direct}) {
    CAPTURE(result.out, result.err);
    CHECK(result.exitStatus == 1);
    CHECK_THAT(result.out, Catch::Contains("trained\n"));
    CHECK_THAT(result.err, Catch::Contains("iterations 0-5 were not recorded"));
  }
  CHECK_THAT(dumped.err, Catch::Contains("the program: the recording is not complete (see above)"));
  for (const char* run : {"dump.msdbg", "hand.msdbg"}) {
    CHECK(endOf(folder / run).state == "finished");
    CHECK_THAT(endOf(folder / run).message, Catch::Contains("the recording is not complete"));
  }
}

TEST_CASE("Without msdbg dump a Session records by itself and finishes run.json", "[session]") {
  struct Ending {
    const char* how;
    int exitStatus;
    const char* state;
  };
  for (const Ending& ending : {Ending{"ok", 0, "finished"}, Ending{"throw", 1, "failed"},
                               Ending{"segv", 139, "killed"}, Ending{"exit3", 3, "failed"}}) {
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    const RunResult result =
        runCommand({kProbe, ending.how}, {.environment = {{"MSDBG_DUMP", run.string()}}});
    CAPTURE(ending.how, result.err);
    CHECK(result.exitStatus == ending.exitStatus);
    CHECK(endOf(run).state == ending.state);
    CHECK(completeIterations(run, 0) >= 3);
    checkReadable(run);
  }
}

TEST_CASE("A Session does not overwrite a run, and says what is wrong with its settings", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  REQUIRE(runCommand({kProbe, "ok"}, {.environment = {{"MSDBG_DUMP", run.string()}}}).exitStatus == 0);
  const RunResult again = runCommand({kProbe, "ok"}, {.environment = {{"MSDBG_DUMP", run.string()}}});
  CHECK(again.exitStatus != 0);
  CHECK_THAT(again.err, Catch::Contains("is there already"));
  const RunResult steps = runCommand({kProbe, "ok", "--steps", "many"});
  CHECK_THAT(steps.err, Catch::Contains("--steps") && Catch::Contains("many"));
  CHECK(steps.exitStatus == 2);
}

TEST_CASE("A program's own options are refused as a command's are: one sentence, status 2", "[session]") {
  const TempDir folder;
  struct Mistake {
    std::vector<std::string> words;
    const char* says;
  };
  for (const Mistake& mistake :
       {Mistake{{"--steps"}, "--steps needs a value"},
        Mistake{{"--threads", "--seed"}, "--threads: '--seed' is not a whole number"},
        Mistake{{"--threads", "100000"}, "--threads: '100000' is not a whole number from 1 to 1024"},
        Mistake{{"--threads=0"}, "from 1 to 1024"}, Mistake{{"--seed", "-1"}, "--seed: '-1'"}}) {
    std::vector<std::string> words = {kProbe, "ok"};
    words.insert(words.end(), mistake.words.begin(), mistake.words.end());
    const RunResult result = runCommand(words);
    CAPTURE(mistake.words, result.err);
    CHECK(result.exitStatus == 2);
    CHECK(count(result.err, "msdbg: error: ") == 1);
    CHECK_THAT(result.err, Catch::Contains(mistake.says));
  }
  CHECK(runCommand({kProbe, "ok"}, {.environment = {{"MSDBG_THREADS", "1025"}}}).exitStatus == 2);
}

TEST_CASE("Without MSDBG_DUMP nothing is recorded and nothing is written", "[session]") {
  const TempDir folder;
  const RunResult result = runCommand({kProbe, "ok"}, {.folder = folder.path()});
  CHECK(result.exitStatus == 0);
  CHECK(result.out == "trained\n");
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("A program without a Session is run, and told to have recorded nothing", "[session]") {
  const TempDir folder;
  const RunResult result =
      runCommand({buildDir() / "bin" / "msdbg", "dump", "-o", (folder / "r.msdbg").string(), "--", "true"});
  CHECK(result.exitStatus == 1);
  CHECK_THAT(result.err,
             Catch::Contains("nothing was recorded") && Catch::Contains("msdbg::Session run(argc"));
  CHECK(endOf(folder / "r.msdbg").state == "finished");
  const RunResult info = runCommand({kMsdbg, "info", (folder / "r.msdbg").string()});
  CHECK(info.exitStatus == 1);
  CHECK_THAT(info.err, Catch::Contains("nothing was recorded"));
}

TEST_CASE("A rank that is killed ends the run in seconds, named with node and iteration", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  Clock::time_point killed;
  const RunResult result = disturb(dumpProbe(run, 2, {"slow"}, {"--steps", "1000"}), run, 1, [&](pid_t pid) {
    killed = Clock::now();
    kill(pid, SIGKILL);
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - killed).count();
  INFO(result.out << result.err);
  CHECK(seconds < 8);
  CHECK(result.exitStatus == 137);
  const dump::RunEnd end = endOf(run);
  CHECK(end.state == "killed");
  CHECK(end.rank == 1);
  CHECK(end.signal == SIGKILL);
  CHECK(end.iteration.value_or(-1) >= 3);
  CHECK_THAT(result.err,
             Catch::Contains("rank 1 was killed by signal 9 (SIGKILL)") && Catch::Contains("iteration"));
  CHECK(completeIterations(run, 0) >= 3);
  checkReadable(run);
}

TEST_CASE("A rank's exception ends the run with its text", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(dumpProbe(run, 2, {"throw@1"}));
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 1);
  const dump::RunEnd end = endOf(run);
  CHECK(end.state == "failed");
  CHECK(end.rank == 1);
  CHECK_THAT(end.message, Catch::Contains("rank 1") && Catch::Contains("the data is gone"));
  CHECK(completeIterations(run, 0) >= 3);
  checkReadable(run);
}

TEST_CASE("A rank that leaves early does not keep the others waiting", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = runCommand(dumpProbe(run, 2, {"early@1"}), {.timeout = std::chrono::seconds(40)});
  INFO(result.out << result.err);
  CHECK_FALSE(result.timedOut);
  CHECK(result.exitStatus == 1);
  CHECK(endOf(run).state == "failed");
  CHECK_THAT(endOf(run).message, Catch::Contains("rank 1 ended") &&
                                     Catch::Contains("while rank 0 waits for it") &&
                                     !Catch::Contains("rank 0 failed"));
  CHECK(endOf(run).rank == 1);
  CHECK_THAT(result.err, !Catch::Contains("MPI Error"));
  CHECK(completeIterations(run, 0) == 3);
  checkReadable(run);
}

TEST_CASE("Ctrl-C stops a recording in good order, on one rank and on two", "[session][slow]") {
  for (const int ranks : {1, 2}) {
    const TempDir folder;
    const fs::path run = folder / "run.msdbg";
    const std::vector<std::string> command = dumpProbe(run, ranks, {"slow"}, {"--steps", "1000"});
    // The shell's own pid is msdbg's.
    std::vector<std::string> shell = {"bash", "-c", "echo $$ > \"$0\"; exec \"$@\"",
                                      (folder / "pid").string()};
    shell.insert(shell.end(), command.begin(), command.end());
    const RunResult result = disturb(shell, run, 0, [&](pid_t) {
      runCommand({"bash", "-c", "kill -INT $(cat " + (folder / "pid").string() + ")"});
    });
    CAPTURE(ranks, result.out, result.err);
    CHECK(result.exitStatus == 130);
    CHECK(endOf(run).state == "stopped");
    CHECK_THAT(result.err, Catch::Contains("stopped by Ctrl-C"));
    for (int rank = 0; rank < ranks; ++rank) CHECK(completeIterations(run, rank) >= 3);
    checkReadable(run);
  }
}

TEST_CASE("Two ranks started by hand with mpirun record one run", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  RunOptions options;
  options.environment = core::mpirunEnvironment();
  options.environment.emplace_back("MSDBG_DUMP", run.string());
  const RunResult result = runCommand(core::mpirunCommand(2, {kProbe, "ok", "--threads", "1"}), options);
  INFO(result.out << result.err);
  CHECK(result.exitStatus == 0);
  CHECK(endOf(run).state == "finished");
  for (const int rank : {0, 1}) CHECK(completeIterations(run, rank) == 6);
  checkReadable(run);
}

}  // namespace msdbg::test
