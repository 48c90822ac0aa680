// The msdbg that pip installs: every command, and no engine. What it can it does as the whole msdbg does.
#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>

#include "tests/cli/recorded_run.h"

namespace msdbg::test {
namespace {

using Words = std::vector<std::string>;

RunResult withoutEngine(const Words& words) {
  Words line = {(buildDir() / "python/msdbg/bin/msdbg-without-engine").string()};
  line.insert(line.end(), words.begin(), words.end());
  return runCommand(line, {.folder = cleanRun().parent_path()});
}

// The names of the commands in `msdbg --help`.
Words commandsOf(const std::string& help) {
  static const std::regex kRow(R"(\n  ([a-z-]+) +\S)");
  Words names;
  for (std::sregex_iterator match(help.begin(), help.end(), kRow), end; match != end; ++match)
    names.push_back((*match)[1]);
  return names;
}

void checkRefused(const Words& words) {
  CAPTURE(words);
  const RunResult result = withoutEngine(words);
  CHECK(result.exitStatus == 1);
  CHECK(result.out.empty());
  CAPTURE(result.err);
  CHECK(result.err.find("needs msdbg's engine, which this msdbg (pip's) is without") != std::string::npos);
  CHECK(result.err.find("./dev build") != std::string::npos);
  CHECK(std::ranges::count(result.err, '\n') == 1);
}

}  // namespace

TEST_CASE("Without the engine msdbg has the same commands, and refuses those that need it") {
  const Words whole = commandsOf(msdbg({"--help"}).out);
  CHECK(whole.size() >= 15);
  CHECK(commandsOf(withoutEngine({"--help"}).out) == whole);
  CHECK(withoutEngine({"--version"}).out.find("engine: not built in") != std::string::npos);
  checkRefused({"models"});
  checkRefused({"ops", "--markdown"});
  checkRefused({"compile", "mlp"});
  checkRefused({"bench", "mlp", "--steps", "2"});
  checkRefused({"replay", "replayable.msdbg", "--prove"});
  checkRefused({"train-model", "mlp"});
  checkRefused({"dump", "mlp", "--batch", "8"});
  checkRefused({"dump", "--resume", "mlp-1.msdbg"});
  checkRefused({"dump", "--fault", "nan@iteration=1", "--", "true"});
  CHECK(withoutEngine({"dump"}).exitStatus == 2);
}

TEST_CASE("Without the engine msdbg loads none of the engine's libraries") {
  const RunResult result =
      runCommand({"ldd", (buildDir() / "python/msdbg/bin/msdbg-without-engine").string()});
  REQUIRE(result.exitStatus == 0);
  CHECK_FALSE(std::regex_search(result.out, std::regex(R"(lib(dnnl|mpi|open-rte|boost_context)\.so)")));
}

TEST_CASE("What a run holds is told the same without the engine", "[slow]") {
  faultyRun(), plantedRun(), replayableRun();
  for (const Words& words : std::vector<Words>{
           {"info", "faulty.msdbg", "--tensors", "*fc2*"},
           {"check", "planted.msdbg", "--why"},
           {"check", "clean.msdbg", "--json"},
           {"check", "clean.msdbg", "--recompute"},
           {"search", "clean.msdbg", "*fc2*"},
           {"show", "planted.msdbg", "--tensor", "fc3/bias", "--rank", "1", "--iteration", "2"},
           {"stats", "clean.msdbg", "--tensor", "fc2/weight"},
           {"history", "planted.msdbg", "--tensor", "fc3/bias", "--index", "3", "--stored"},
           {"history", "clean.msdbg", "--tensor", "fc3/bias", "--index", "3"},
           {"why", "planted.msdbg", "--stored", "--rank", "1"},
           {"diff", "planted.msdbg", "--iterations", "0,2"},
           {"diff", "clean.msdbg", "faulty.msdbg"},
           {"verify", "clean.msdbg"},
           {"conditions", "--json"}}) {
    CAPTURE(words);
    const RunResult whole = msdbg(words), without = withoutEngine(words);
    CHECK(without.exitStatus == whole.exitStatus);
    CHECK(without.out == whole.out);
    CHECK(without.err == whole.err);
  }
}

TEST_CASE("A value that the engine would compute again is said to need it") {
  replayableRun();
  const RunResult shown =
      withoutEngine({"show", "replayable.msdbg", "--tensor", "network/fc2/Gemm-op1", "--iteration", "1"});
  CHECK(shown.exitStatus == 4);
  CHECK(shown.err.find("nor computed again: computing again what is not stored needs msdbg's engine") !=
        std::string::npos);
  const RunResult past =
      withoutEngine({"history", "replayable.msdbg", "--tensor", "network/fc2/Gemm-op1", "--index", "0,0"});
  CHECK(past.exitStatus == 4);
  CHECK(past.out.find("no value of it is stored: msdbg stats replayable.msdbg --tensor") !=
        std::string::npos);
  CHECK(past.out.find("not there: iterations 0-2: computing again") != std::string::npos);
  CHECK(withoutEngine({"why", "replayable.msdbg"}).err.find("only what is stored is followed") !=
        std::string::npos);
  checkRefused({"stats", "replayable.msdbg", "--tensor", "network/fc2/Gemm-op1", "--recompute"});
  checkRefused({"check", "replayable.msdbg", "--recompute"});
  checkRefused({"check", "replayable.msdbg", "--recheck"});
  checkRefused({"diff", "replayable.msdbg", "--recomputed"});
}

TEST_CASE("Without the engine msdbg records a program that has it, which the whole one proves", "[slow]") {
  const RunResult recorded =
      withoutEngine({"dump", "-o", "program.msdbg", "--", (buildDir() / "bin/msdbg").string(), "train-model",
                     "mlp", "--steps", "3", "--seed", "5", "--threads", "1", "--batch", "16"});
  INFO(recorded.out << recorded.err);
  REQUIRE(recorded.exitStatus == 0);
  CHECK(msdbgJson({"info", "program.msdbg"})["seed"] == 5);
  const RunResult proved = msdbg({"replay", "program.msdbg", "--prove"});
  INFO(proved.out << proved.err);
  CHECK(proved.exitStatus == 0);
}

}  // namespace msdbg::test
