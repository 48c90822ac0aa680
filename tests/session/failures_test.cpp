// A run that failed is the first thing that check names, whoever started it; a program's own mistake is said
// once, with advice that exists there, and ends with status 1.
#include <signal.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core_engine/base/mpirun.h"
#include "tests/session/disturbed_run.h"
#include "tests/session/probe_run.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Catch::Contains;

namespace {

/// What check says of the run, which has to be `status`.
Json checked(const fs::path& run, int status) {
  const RunResult result = runCommand({kMsdbg, "check", run.string(), "--json"});
  INFO(result.out << result.err);
  REQUIRE(result.exitStatus == status);
  return Json::parse(result.out);
}

RunResult dumpProbe(const fs::path& run, const std::string& how, int ranks = 1,
                    const std::vector<std::string>& options = {}) {
  std::vector<std::string> words = {kMsdbg,      "dump", "-o", run.string(), "-n", std::to_string(ranks),
                                    "--threads", "1"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", kProbe, how});
  return runCommand(words);
}

RunResult byHand(const fs::path& run, const std::string& how) {
  return runCommand({kProbe, how}, {.environment = {{"MSDBG_DUMP", run.string()}}});
}

/// Lines of stderr that msdbg itself says as errors.
int errors(const RunResult& result) { return count(result.err, "msdbg: error: "); }

}  // namespace

TEST_CASE("A label out of range is the first wrong thing, at the loss, with the message", "[session]") {
  const TempDir folder;
  const RunResult dumped = dumpProbe(folder / "dump.msdbg", "badlabel");
  const RunResult hand = byHand(folder / "hand.msdbg", "badlabel");
  for (const RunResult& result : {dumped, hand}) {
    INFO(result.out << result.err);
    CHECK(result.exitStatus == 1);
    CHECK(errors(result) == 1);
    CHECK(count(result.err, "session_probe.cpp") == 1);
    CHECK_THAT(result.err, Contains("12") && !Contains("terminate called"));
  }
  for (const char* run : {"dump.msdbg", "hand.msdbg"}) {
    const Json first = checked(folder / run, 3)["first"];
    CHECK(first["condition"] == "run_failed");
    CHECK(first["severity"] == "fault");
    CHECK(first["op_type"] == "SoftmaxCrossEntropyLoss");
    CHECK(first["iteration"] == 3);
    CHECK(first["rank"] == 0);
    CHECK_THAT(first["detail"].get<std::string>(), Contains("12"));
    CHECK_THAT(first["source"]["file"].get<std::string>(), Contains("session_probe.cpp"));
  }
  const RunResult text = runCommand({kMsdbg, "check", (folder / "dump.msdbg").string()});
  CHECK_THAT(text.out,
             Contains("FIRST WRONG: run_failed at probe/SoftmaxCrossEntropyLoss-op1, rank 0, iteration 3"));
}

TEST_CASE("A batch of the wrong shape, caught or not, is the first wrong thing", "[session]") {
  for (const std::string how : {"badshape", "caughtstep"}) {
    const TempDir folder;
    CAPTURE(how);
    const RunResult result = byHand(folder / "run.msdbg", how);
    CHECK(result.exitStatus == (how == "badshape" ? 1 : 0));
    CHECK(errors(result) == 1);
    const Json first = checked(folder / "run.msdbg", 3)["first"];
    CHECK(first["condition"] == "run_failed");
    CHECK_THAT(first["detail"].get<std::string>(), Contains("iteration 3"));
    CHECK(first["iteration"] == 3);
    const RunResult told = runCommand({kMsdbg, "check", (folder / "run.msdbg").string()});
    if (how == "badshape") CHECK_THAT(told.out, Contains("the run failed at iteration 3"));
  }
}

TEST_CASE("A batch that the program changed is recorded as it was changed, and computed again", "[session]") {
  const TempDir folder;
  const RunResult result = byHand(folder / "run.msdbg", "madeover");
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  for (const char* command : {"verify", "replay"}) {
    std::vector<std::string> words = {kMsdbg, command, (folder / "run.msdbg").string()};
    if (words[1] == "replay") words.insert(words.end(), {"--iteration", "0-5", "--prove"});
    const RunResult asked = runCommand(words);
    INFO(asked.out << asked.err);
    CHECK(asked.exitStatus == 0);
  }
}

TEST_CASE("A step that failed, and was trained on after, is no failure of the run", "[session]") {
  const TempDir folder;
  const RunResult result = byHand(folder / "run.msdbg", "goeson");
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  CHECK(checked(folder / "run.msdbg", 0)["first"].is_null());
  CHECK(runCommand({kMsdbg, "verify", (folder / "run.msdbg").string()}).exitStatus == 0);
}

TEST_CASE("An end between two iterations is told after everything that is wrong in the last one",
          "[session]") {
  struct Ending {
    const char *how, *detail;
  };
  for (const Ending& ending :
       {Ending{"throw", "the data is gone"}, Ending{"throwlogic", "a mistake"}, Ending{"exit3", "exit(3)"},
        Ending{"return3", "ended with status 3"}, Ending{"segv", "11 (SIGSEGV)"}, Ending{"kill", "9"}}) {
    const TempDir folder;
    CAPTURE(ending.how);
    dumpProbe(folder / "dump.msdbg", ending.how);
    byHand(folder / "hand.msdbg", ending.how);
    for (const char* run : {"dump.msdbg", "hand.msdbg"}) {
      CAPTURE(run);
      const bool silent =
          std::string(ending.how) == "kill";  // nothing may be committed: then there is no graph
      if (silent && runCommand({kMsdbg, "info", (folder / run).string()}).exitStatus != 0) continue;
      const Json first = checked(folder / run, 3)["first"];
      CHECK(first["condition"] == "run_failed");
      CHECK(first["node"].is_null());
      CHECK(first["tensor"].is_null());
      CHECK(first["order"].is_null());
      CHECK_THAT(first["detail"].get<std::string>(), Contains(ending.detail));
    }
    const RunResult text = runCommand({kMsdbg, "check", (folder / "dump.msdbg").string(), "--all", "--why"});
    CHECK_THAT(text.out, Contains("FIRST WRONG: run_failed at the end of the run, rank 0"));
  }
}

TEST_CASE("A NaN before the failure stays the first wrong thing, and the failure follows", "[session]") {
  const TempDir folder;
  dumpProbe(folder / "run.msdbg", "throw", 1, {"--fault", "nan@iteration=2,node=*Gemm-op1"});
  const Json report = checked(folder / "run.msdbg", 3);
  CHECK(report["first"]["condition"] == "nonfinite_propagation");
  CHECK(report["first"]["iteration"] == 2);
  CHECK_THAT(report["consequences"].dump(), Contains("the data is gone"));
}

TEST_CASE("What ended in good order, or was stopped by its user, has not failed", "[session]") {
  const TempDir folder;
  REQUIRE(dumpProbe(folder / "ok.msdbg", "ok").exitStatus == 0);
  CHECK(checked(folder / "ok.msdbg", 0)["first"].is_null());
  disturbed(folder.path(), 1, "", "kill -INT $!");
  CHECK(checked(folder / "run.msdbg", 0)["first"].is_null());
}

TEST_CASE("Which rank failed is told, not the ones that lost it", "[session][slow]") {
  for (const std::string how : {"badlabel@1", "throw@1", "early@1"}) {
    const TempDir folder;
    CAPTURE(how);
    dumpProbe(folder / "run.msdbg", how, 2);
    const Json report = checked(folder / "run.msdbg", 3);
    CHECK(report["first"]["condition"] == "run_failed");
    if (how != "early@1") CHECK(report["first"]["rank"] == 1);
    CHECK(report["first_per_rank"].size() == 1);
  }
}

TEST_CASE("A rank that is killed or stands still is the first wrong thing", "[session][slow]") {
  struct Ending {
    const char *how, *detail;
  };
  for (const Ending& ending : {Ending{"kill@1", "9 (SIGKILL)"}, Ending{"hang@1", "hangs"}}) {
    const TempDir folder;
    CAPTURE(ending.how);
    dumpProbe(folder / "run.msdbg", ending.how, 2, {"--watchdog", "3", "--watchdog-kill"});
    const Json first = checked(folder / "run.msdbg", 3)["first"];
    CHECK(first["condition"] == "run_failed");
    CHECK(first["rank"] == 1);
    CHECK_THAT(first["detail"].get<std::string>(), Contains(ending.detail));
  }
}

TEST_CASE("A failure before the first iteration, or before the graph is complete, is found as any other",
          "[session]") {
  for (const std::string how : {"sameinput", "nofile"}) {
    const TempDir folder;
    CAPTURE(how);
    dumpProbe(folder / "dump.msdbg", how);
    byHand(folder / "hand.msdbg", how);
    const std::string detail = how == "nofile" ? "/no/such/folder" : "'x'";
    for (const char* run : {"dump.msdbg", "hand.msdbg"}) {
      const Json report = checked(folder / run, 3);
      CHECK(report["first"]["condition"] == "run_failed");
      CHECK(report["first"]["rank"] == 0);
      CHECK(report["first"]["node"].is_null());
      CHECK_THAT(report["first"]["detail"].get<std::string>(), Contains(detail));
      CHECK(report["hits_in_all"] == 1);
      const RunResult text = runCommand({kMsdbg, "check", (folder / run).string(), "--why"});
      CHECK(text.exitStatus == 3);
      CHECK(text.err.empty());
      CHECK_THAT(text.out,
                 Contains("FIRST WRONG: run_failed at the end of the run, rank 0") && Contains(detail));
      if (how == "nofile") continue;  // its graph is complete
      const RunResult info = runCommand({kMsdbg, "info", (folder / run).string()});
      CHECK(info.exitStatus == 1);
      CHECK(errors(info) == 1);
      CHECK_THAT(info.err, Contains(detail));  // no other command has more to say
    }
  }
}

TEST_CASE("A program that fails and has no Session has failed too; one that does well was not recorded",
          "[session]") {
  const TempDir folder;
  runCommand({kMsdbg, "dump", "-o", (folder / "false.msdbg").string(), "--", "false"});
  const Json first = checked(folder / "false.msdbg", 3)["first"];
  CHECK(first["condition"] == "run_failed");
  CHECK_THAT(first["detail"].get<std::string>(), Contains("ended with status 1"));
  runCommand({kMsdbg, "dump", "-o", (folder / "true.msdbg").string(), "--", "true"});
  const RunResult nothing = runCommand({kMsdbg, "check", (folder / "true.msdbg").string()});
  CHECK(nothing.exitStatus == 1);
  CHECK_THAT(nothing.err, Contains("nothing was recorded"));
}

TEST_CASE("Of a program that was killed before its graph was complete, without a launcher, check says so",
          "[session]") {
  const TempDir folder;
  const RunResult result = byHand(folder / "run.msdbg", "killfirst");
  CHECK(result.exitStatus == 128 + SIGKILL);
  const Json first = checked(folder / "run.msdbg", 3)["first"];
  CHECK(first["condition"] == "run_failed");
  CHECK_THAT(first["detail"].get<std::string>(), Contains("without a word before its first iteration"));
}

TEST_CASE("A program that leaves by _exit(0) is a run that failed, whoever started it", "[session]") {
  const TempDir folder;
  dumpProbe(folder / "dump.msdbg", "_exit0");
  byHand(folder / "hand.msdbg", "_exit0");
  for (const char* run : {"dump.msdbg", "hand.msdbg"}) {
    CAPTURE(run);
    CHECK(checked(folder / run, 3)["first"]["condition"] == "run_failed");
  }
}

TEST_CASE("Mistakes before the first iteration are said once, with status 1", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  REQUIRE(byHand(run, "ok").exitStatus == 0);
  const RunResult again = byHand(run, "ok");
  CHECK(again.exitStatus == 1);
  CHECK(errors(again) == 1);
  CHECK_THAT(again.err, Contains("is there already; name another folder in MSDBG_DUMP, or remove this one") &&
                            !Contains("--force") && !Contains("terminate"));
  const RunResult unrecorded = runCommand({kProbe, "nofile"});
  CHECK(unrecorded.exitStatus == 1);
  CHECK(errors(unrecorded) == 1);
  CHECK_THAT(unrecorded.err, Contains("/no/such/folder") && !Contains("terminate"));
  const RunResult recorded = byHand(folder / "no.msdbg", "nofile");
  CHECK(recorded.exitStatus == 1);
  CHECK(errors(recorded) == 1);
}

TEST_CASE("A program started by hand says once where it records, and how that ended", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = byHand(run, "ok");
  CHECK(result.out == "trained\n");
  CHECK(count(result.err, "msdbg: recording 1 rank x ") == 1);
  CHECK_THAT(result.err, Contains("into " + run.string()) && Contains("msdbg: finished, 6 iterations") &&
                             Contains("msdbg check " + run.string()));
  CHECK(runCommand({kProbe, "ok"}).err.empty());
}

TEST_CASE("mpirun with MSDBG_DUMP says once where it records, and how that ended", "[session][slow]") {
  const TempDir folder;
  RunOptions options;
  options.environment = core::mpirunEnvironment();
  options.environment.emplace_back("MSDBG_DUMP", (folder / "run.msdbg").string());
  const auto start = [&](const std::string& how) {
    return runCommand(core::mpirunCommand(2, {kProbe, how, "--threads", "1"}), options);
  };
  const RunResult good = start("ok");
  INFO(good.err);
  CHECK(count(good.err, "msdbg: recording 2 ranks x 1 thread into ") == 1);
  CHECK(count(good.err, "msdbg: finished, 6 iterations") == 1);
  const RunResult refused = start("ok");
  INFO(refused.err);
  CHECK(refused.exitStatus != 0);
  CHECK(count(refused.err, "is there already") == 1);
}

// The others have looked at it after its first iteration, while they waited in the second.
TEST_CASE("A rank that leaves early is missed where the others wait for it", "[session][slow]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  RunOptions options;
  options.environment = core::mpirunEnvironment();
  const std::vector<std::string> command = core::mpirunCommand(2, {kProbe, "lagsearly@1", "--threads", "1"});
  const RunResult unrecorded = runCommand(command, options);
  INFO(unrecorded.err);
  CHECK(unrecorded.exitStatus == 1);
  CHECK(errors(unrecorded) == 1);
  CHECK_THAT(unrecorded.err, Contains("rank 1 ended while rank 0 waits for it: every rank has to take the "
                                      "same steps") &&
                                 !Contains("MPI_ERR"));
  options.environment.emplace_back("MSDBG_DUMP", run.string());
  const RunResult recorded = runCommand(command, options);
  INFO(recorded.err);
  CHECK(errors(recorded) == 1);
  const auto end = endOf(run);
  CHECK(end.rank == 1);
  CHECK(end.iteration == 3);
  CHECK(end.node == "grad/probe/Allreduce-op1");
  CHECK_THAT(end.message, Contains("rank 1 ended while rank 0 waits for it"));
}

TEST_CASE("A second Trainer that counts from 0 again is said, when it begins and by info", "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult twice = byHand(run, "secondtrainer");
  INFO(twice.err);
  CHECK(twice.exitStatus == 0);
  CHECK(count(twice.err, "warning") == 1);
  CHECK_THAT(twice.err,
             Contains("training begins again at iteration 0 (") && Contains("session_probe.cpp:") &&
                 Contains("iterations 0-5 are recorded already") && Contains("msdbg::Iteration(6)"));
  const RunResult info = runCommand({kMsdbg, "info", run.string()});
  CHECK_THAT(info.out, Contains("training began again at iteration 0") && Contains("iterations 0-5"));
  const Json restarts = Json::parse(runCommand({kMsdbg, "info", run.string(), "--json"}).out)["restarts"];
  CHECK(restarts == Json::parse(R"([{"rank": 0, "iteration": 0, "newest": 5}])"));
  CHECK(runCommand({kMsdbg, "verify", run.string()}).exitStatus == 0);

  const fs::path both = folder / "both.msdbg";
  const RunResult on = byHand(both, "countson");
  INFO(on.err);
  CHECK(count(on.err, "warning") == 0);
  const RunResult shown = runCommand({kMsdbg, "info", both.string()});
  CHECK_THAT(shown.out, Contains("0-9") && !Contains("began again"));
}

TEST_CASE("Of two Trainers in turn the newer one is recorded, and the other says that it is not",
          "[session]") {
  const TempDir folder;
  const fs::path run = folder / "run.msdbg";
  const RunResult result = byHand(run, "inturn");
  INFO(result.err);
  CHECK(result.exitStatus == 0);
  CHECK(count(result.err, "the steps of this Trainer (") == 1);
  CHECK_THAT(result.err, Contains("probe, iteration 6: the steps of this Trainer"));
  CHECK(runCommand({kMsdbg, "verify", run.string()}).exitStatus == 0);
  const Json info = Json::parse(runCommand({kMsdbg, "info", run.string(), "--json"}).out);
  CHECK(info["ranks"][0]["count"] == 6);
  CHECK(runCommand({kProbe, "inturn"}).err.empty());
}

TEST_CASE("An option that is nearly one of Session's is named, whoever starts the program", "[session]") {
  const TempDir folder;
  const auto warnings = [](const RunResult& result) {
    return count(result.err, "is not an option of msdbg's");
  };
  const RunResult step = runCommand({kProbe, "ok", "--step", "5"});
  INFO(step.err);
  CHECK(step.exitStatus == 0);
  CHECK_THAT(step.err, Contains("--step is not an option of msdbg's Session; did you mean --steps?"));
  CHECK(warnings(step) == 1);
  CHECK(warnings(runCommand({kProbe, "ok", "--thraeds=1"})) == 1);
  CHECK(warnings(runCommand({kMsdbg, "dump", "-n", "1", "-o", (folder / "run.msdbg").string(), "--", kProbe,
                             "ok", "--sed", "5"})) == 1);
  CHECK(runCommand({kProbe, "ok", "--heads", "4", "--steps", "5", "--seed=2", "--lr", "1", "--", "--step"})
            .err.empty());
}

TEST_CASE("The reason of a run that failed is said once by check", "[session]") {
  const TempDir folder;
  byHand(folder / "run.msdbg", "badshape");
  const RunResult check = runCommand({kMsdbg, "check", (folder / "run.msdbg").string()});
  INFO(check.out);
  CHECK(count(check.out, "(run failed)") == 1);
  CHECK(count(check.out, "probe: iteration 3") == 1);
}

TEST_CASE("A planted fault that never acts is an error, before training where that can be known",
          "[session]") {
  const TempDir folder;
  const RunResult model = runCommand({kMsdbg, "dump", "mlp", "--steps", "3", "-o",
                                      (folder / "m.msdbg").string(), "--fault", "nan@iteration=3"});
  CHECK(model.exitStatus == 2);
  CHECK_THAT(model.err, Contains("fault 'nan@iteration=3' never acts: training has iterations 0-2 only"));
  CHECK_FALSE(fs::exists(folder / "m.msdbg"));
  const RunResult program = dumpProbe(folder / "p.msdbg", "ok", 1, {"--fault", "nan@iteration=60"});
  INFO(program.err);
  CHECK(program.exitStatus == 2);
  CHECK_THAT(program.err, Contains("never acts: training has iterations 0-5 only"));
  const RunResult noNode = dumpProbe(folder / "n.msdbg", "ok", 1, {"--fault", "nan@iteration=1,node=*fc9*"});
  CHECK(noNode.exitStatus == 1);
  CHECK_THAT(noNode.err, Contains("no node matches '*fc9*'"));
  const RunResult hand = runCommand({kProbe, "ok"}, {.environment = {{"MSDBG_FAULTS", "nan@iteration=60"}}});
  CHECK(hand.exitStatus == 2);
  CHECK(hand.out == "trained\n");
  CHECK(count(hand.err, "never acts") == 1);
  CHECK(runCommand({kProbe, "ok"}, {.environment = {{"MSDBG_FAULTS", "nan@iteration=5"}}}).exitStatus == 0);
}

}  // namespace msdbg::test
