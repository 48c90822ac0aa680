// msdbg why on recorded runs: what it finds, and what it says of mistakes.
#include <catch2/catch.hpp>

#include "tests/cli/recorded_run.h"

namespace msdbg::test {

TEST_CASE("why goes from the loss of one rank to the node of the other in which a NaN was planted", "[cli]") {
  faultyRun();
  const auto why = msdbgJson({"why", "faulty.msdbg", "--iteration", "2"});
  CHECK(why["cause"] == "not_reproduced");
  const auto& last = why["steps"].back();
  CHECK(last["rank"] == 1);
  CHECK(last["iteration"] == 1);
  CHECK(last["node"].get<std::string>().ends_with("fc2/Gemm-op1"));
  CHECK(last["source"]["file"].get<std::string>().ends_with("mlp.cpp"));
  CHECK(why["path"].back() == last["node"]);
  bool collective = false;
  for (const auto& step : why["steps"]) collective = collective || step["operator"] == "Allreduce";
  CHECK(collective);
}

TEST_CASE("why begins at the first iteration that is not finite, and says so", "[cli]") {
  faultyRun();
  const auto why = msdbgJson({"why", "faulty.msdbg", "--rank", "1"});
  CHECK(why["iteration"] == 1);
  CHECK(why["iteration_chosen"] == "the first iteration in which it is not finite");
}

TEST_CASE("why follows a far too large rate back to the rate", "[cli]") {
  steepRun();
  const auto why = msdbgJson({"why", "steep.msdbg", "--tensor", "network/fc3/bias", "--iteration", "2"});
  CHECK(why["cause"] == "update");
  CHECK(why["steps"].size() == 2);
}

TEST_CASE("why leaves out what many layers do alike, and shows it where it is asked for", "[cli]") {
  msdbg({"dump",      "gpt",       "--layers",     "12",
         "--width",   "16",        "--heads",      "2",
         "--context", "8",         "--vocabulary", "256",
         "--batch",   "2",         "--steps",      "2",
         "--threads", "1",         "--fault",      "nan@iteration=1,node=network/tokens/Gather-op1",
         "-o",        "deep.msdbg"});
  const RunResult folded = msdbg({"why", "deep.msdbg"}), whole = msdbg({"why", "deep.msdbg", "--all"});
  CHECK_THAT(folded.out, Catch::Contains("15 more steps through the same operators and lines (7 to 21)"));
  CHECK_THAT(folded.out, Catch::Contains("network/tokens/Gather-op1[0, 0, 0] = nan"));
  CHECK_THAT(folded.out, !Catch::Contains("network/block6/Add-op1"));
  CHECK_THAT(whole.out, Catch::Contains("network/block6/Add-op1") && !Catch::Contains("more steps"));
}

TEST_CASE("why has no answer where nothing is stored and nothing may be computed", "[cli]") {
  replayableRun();
  const RunResult stored = msdbg({"why", "replayable.msdbg", "--stored", "--tensor", "fc1/Relu-op1"});
  CHECK(stored.exitStatus == 4);
  CHECK_THAT(stored.out, Catch::Contains("is not stored"));
  CHECK(msdbgJson({"why", "replayable.msdbg", "--tensor", "fc1/Relu-op1"})["steps"].size() > 0);
}

TEST_CASE("why refuses elements, iterations and numbers that there are not", "[cli]") {
  cleanRun();
  const RunResult index = msdbg({"why", "clean.msdbg", "--tensor", "fc3/bias", "--index", "10"});
  CHECK(index.exitStatus == 2);
  CHECK_THAT(index.err, Catch::Contains("dimension 0 has no 10"));
  CHECK_THAT(msdbg({"history", "clean.msdbg", "--tensor", "fc3/bias"}).err, Catch::Contains("no --index: "));
  CHECK(msdbg({"why", "clean.msdbg", "--iteration", "77"}).exitStatus == 2);
  CHECK(msdbg({"why", "clean.msdbg", "--terms", "0"}).exitStatus == 2);
  CHECK(msdbg({"why", "clean.msdbg", "--tensor", "nobody"}).exitStatus == 2);
  CHECK(msdbg({"why", "clean.msdbg", "--rank", "9"}).exitStatus == 2);
}

}  // namespace msdbg::test
