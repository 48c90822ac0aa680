// Real jobs under mpirun, started the way msdbg starts them.
#include <catch2/catch.hpp>
#include <chrono>

#include "core_engine/base/mpirun.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

struct Job {
  test::RunResult result;
  std::chrono::duration<double> took;
};

Job runJob(int ranks, const std::string& what) {
  const std::string program = (test::buildDir() / "tests" / "test_mpi_rank").string();
  const auto begin = std::chrono::steady_clock::now();
  Job job{test::runCommand(core::mpirunCommand(ranks, {program, what}),
                           {.environment = core::mpirunEnvironment(), .timeout = 50s}),
          {}};
  job.took = std::chrono::steady_clock::now() - begin;
  INFO(what << ": " << job.result.err);
  CHECK_FALSE(job.result.timedOut);
  return job;
}

}  // namespace

TEST_CASE("MPI ranks sum in rank order, bit for bit, whatever the size of the tensor") {
  const int ranks = GENERATE(2, 3, 4);
  const Job job = runJob(ranks, "sums");
  CHECK(job.result.exitStatus == 0);
  CHECK(job.result.err == "");
  CHECK_THAT(job.result.out, Contains("sums of " + std::to_string(ranks) + " ranks"));
}

TEST_CASE("MPI broadcast reaches all ranks from any root") {
  const Job job = runJob(4, "broadcasts");
  CHECK(job.result.exitStatus == 0);
  CHECK(job.result.err == "");
}

TEST_CASE("a rank that ends without the others ends the whole job within seconds, with its own status",
          "[slow]") {
  struct Case {
    std::string how;
    int status;
  };
  const Case ending = GENERATE(Case{"exit", 3}, Case{"kill", 137}, Case{"abort", 5}, Case{"throw", 1});
  const Job job = runJob(2, ending.how);
  INFO(ending.how);
  CHECK(job.result.exitStatus == ending.status);
  CHECK(job.took < 15s);
}

TEST_CASE("a rank that does not come ends the wait with the watchdog's message and is named", "[slow]") {
  const Job job = runJob(2, "hang");
  CHECK(job.result.exitStatus == 4);
  CHECK_THAT(job.result.err, Contains("waited too long; ranks that did not come: 1 (barrier)"));
  CHECK(job.took > 2s);
  CHECK(job.took < 15s);
}

TEST_CASE("a rank that ends while others wait for it is named by them, and MPI breaks nothing", "[slow]") {
  const std::string how = GENERATE("leave", "leave late");
  const Job job = runJob(3, how);
  INFO(how << ": " << job.result.err);
  CHECK(job.result.exitStatus == 4);
  CHECK_THAT(job.result.err, Contains("rank 1 ended while rank ") &&
                                 Contains(" waits for it: every rank has to take the same steps; ranks that "
                                          "did not come: 1 (allreduce); missed 1") &&
                                 !Contains("MPI Error") && !Contains("MPI_ERR"));
  CHECK(job.took < 15s);
}
