// run_failed: where a failure is placed among other findings.
#include <catch2/catch.hpp>

#include "tests/watchpoints/fake_source.h"
#include "tests/watchpoints/small_graph.h"
#include "watchpoints/check.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::FakeSource;

namespace {

FakeSource threeIterations() {
  FakeSource source(msdbg::test::modelGraph(), 2, 3);
  for (const TensorInfo& tensor : source.graph().tensors())
    for (int rank = 0; rank < 2; ++rank)
      for (int iteration = 0; iteration < 3; ++iteration)
        source.row(rank, iteration, tensor.id).values.count = 1;
  return source;
}

std::vector<Watchpoint> asked() {
  return {parseWatchpoint("run_failed").value(), parseWatchpoint("tensor_overflow").value()};
}

void putNan(FakeSource& source, int rank, int iteration, NodeId node) {
  source.row(rank, iteration, source.graph().node(node).outputs.front()).values.nan = 1;
}

}  // namespace

TEST_CASE("A failure at a node is found there; what is wrong before it comes first, what is later after it") {
  FakeSource source = threeIterations();
  source.fail({Rank(1), Iteration(2), NodeId(1), "rank 1 failed: no such class"});
  const CheckReport alone = check(source, asked(), {});
  REQUIRE(alone.first);
  CHECK(alone.first->condition->id == "run_failed");
  CHECK(alone.first->node == NodeId(1));
  CHECK(alone.first->tensor == source.graph().node(NodeId(1)).outputs.front());
  CHECK(alone.first->detail == "rank 1 failed: no such class");
  CHECK(alone.first->effectiveSeverity == Severity::kFault);

  putNan(source, 0, 2, NodeId(2));
  CHECK(check(source, asked(), {}).first->condition->id == "run_failed");
  putNan(source, 1, 2, NodeId(0));
  CHECK(check(source, asked(), {}).first->condition->id == "tensor_overflow");
}

TEST_CASE("A failure without a node comes after everything in the last iteration of its rank") {
  FakeSource source = threeIterations();
  source.fail({Rank(0), {}, {}, "the program was killed by signal 9"});
  const CheckReport alone = check(source, asked(), {});
  REQUIRE(alone.first);
  CHECK(alone.first->iteration == Iteration(2));
  CHECK_FALSE(alone.first->node.valid());
  CHECK_FALSE(alone.first->tensor.valid());
  putNan(source, 1, 2, NodeId(2));
  const CheckReport report = check(source, asked(), {});
  CHECK(report.first->condition->id == "tensor_overflow");
  CHECK(report.hits.back().condition->id == "run_failed");
}

TEST_CASE(
    "A failure of a rank or iteration that was not chosen is not told, unless nothing is recorded of it") {
  FakeSource source = threeIterations();
  source.fail({Rank(1), Iteration(2), {}, "rank 1 failed"});
  CheckOptions options;
  options.ranks = {Rank(0)};
  CHECK_FALSE(check(source, asked(), options).first);
  options.ranks.clear();
  options.iterations = IndexList::parse("0-1").value();
  CHECK_FALSE(check(source, asked(), options).first);
  source.fail({Rank(7), Iteration(1), {}, "rank 7 could not begin"});
  CHECK(check(source, asked(), options).first->rank == Rank(7));
}

TEST_CASE("A run that did not fail is no answer to run_failed, nor a finding") {
  FakeSource source = threeIterations();
  const CheckReport report = check(source, {parseWatchpoint("run_failed").value()}, {});
  CHECK_FALSE(report.first);
  CHECK(report.evaluated == 0);
}

TEST_CASE("Where the text of a failure names a line, that is where the advice sends its reader") {
  FakeSource refused = threeIterations();
  refused.fail(
      {Rank(0), {}, {}, "the program failed: MatMul: A is [32, 64] but B is [63, 10] (/w/bad.cpp:9)"});
  CHECK_THAT(check(refused, asked(), {}).first->advice, Catch::Contains("the line that the detail names"));
  FakeSource waited = threeIterations();
  waited.fail(
      {Rank(0),
       Iteration(2),
       {},
       "net, rank 0: iteration 3: grad/Allreduce-op1 (k.cpp:82): rank 1 died after iteration 2; ranks "
       "that did not come: 1 (allreduce)"});
  CHECK_THAT(check(waited, asked(), {}).first->advice, Catch::Contains("what that rank did last"));
  FakeSource killed = threeIterations();
  killed.fail({Rank(0), {}, {}, "the program was killed by signal 9 (SIGKILL: 9)"});
  CHECK(check(killed, asked(), {}).first->advice.empty());  // the condition's own is shown
}
