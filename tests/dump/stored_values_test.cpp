// What is asked of a segment as a whole says the same as asking of each iteration.
#include <catch2/catch.hpp>

#include "tests/dump/recorded_run.h"

using namespace msdbg;

TEST_CASE("How often a value is stored, and the last loss, are what each iteration says") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const core::TensorId last(static_cast<std::int64_t>(graph.tensors().size()) - 1);
  auto options = dump::RecordOptions::fromJson(
                     R"({"rules":[{"policy":"full","kind":["activation"],"every":3},{"policy":"stats"}]})")
                     .orThrow();
  test::record(folder / "run", graph, options,
               {.iterations = 8, .commitEach = true, .interruptedBefore = last});
  const auto run = test::openRun(folder / "run");
  const core::Rank rank(0);

  std::optional<double> loss;
  std::vector<std::int64_t> numbers, incomplete;
  for (const dump::IterationState& state : run->iterations(rank)) {
    numbers.push_back(state.iteration);
    if (!state.complete) incomplete.push_back(state.iteration);
    if (const auto value = run->scalar(rank, core::Iteration(state.iteration), "loss")) loss = value;
  }
  CHECK(run->iterationSet(rank).numbers() == numbers);
  CHECK(run->incompleteIterations(rank) == incomplete);
  CHECK(incomplete == std::vector<std::int64_t>{8});
  REQUIRE(loss);
  CHECK(run->lastScalar(rank, "loss") == loss);
  CHECK_FALSE(run->lastScalar(rank, "no such scalar"));

  std::int64_t most = 0;
  for (const core::TensorInfo& tensor : run->graph().tensors()) {
    CAPTURE(tensor.fullName());
    std::int64_t count = 0;
    for (const std::int64_t i : numbers) count += run->stored(rank, core::Iteration(i), tensor.id);
    CHECK(run->storedCount(rank, tensor.id) == count);
    CHECK(run->storedAnywhere(rank, tensor.id) == (count > 0));
    most = std::max(most, count);
  }
  CHECK(most == 3);
  CHECK(run->storedCount(core::Rank(7), last) == 0);
  CHECK(run->iterationSet(core::Rank(7)).empty());
}
