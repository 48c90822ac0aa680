// `msdbg check`: what a person reads of a run in which nothing is wrong for certain.
#include <catch2/catch.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg::test;
using Catch::Contains;

TEST_CASE("A hint says what was seen and what to do, once, and no number that its rule has not") {
  const TempDir folder;
  const std::string msdbg = (buildDir() / "bin/msdbg").string(),
                    run = (folder.path() / "slow.msdbg").string();
  REQUIRE(runCommand({msdbg, "dump", "mlp", "--steps", "60", "--lr", "1e-7", "-o", run}).exitStatus == 0);
  const RunResult result = runCommand({msdbg, "check", run});
  CHECK(result.exitStatus == 0);
  CHECK_THAT(result.out, Contains("in 60 iterations (means of 3 at each end)"));
  CHECK_THAT(result.out, Contains("Loss not decreasing (loss_not_decreasing): mean ") &&
                             Contains("over the first 15 iterations"));
  CHECK_THAT(result.out, Contains("advice: Look at the learning rate first"));
  CHECK_THAT(result.out, !Contains("diff_percent") && !Contains("the weights move"));
  CHECK_THAT(result.out, !Contains("not looked into"));  // it has all of its operators
}
