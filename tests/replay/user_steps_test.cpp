// The numbers that a program's user gives its steps.
#include "replay/user_steps.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/replay/fake_run.h"
#include "tests/watchpoints/small_graph.h"

using namespace msdbg;
using core::Iteration;
using core::Rank;

TEST_CASE("UserSteps leads both ways; of a number that was given twice the last iteration counts") {
  replay::UserSteps steps;
  CHECK(steps.empty());
  CHECK_FALSE(steps.nearest(5));
  for (std::int64_t i = 0; i < 4; ++i) steps.set(Iteration(i), 41000 + 10 * i);
  steps.set(Iteration(7), 41010);
  CHECK(steps.at(Iteration(2)) == 41020);
  CHECK_FALSE(steps.at(Iteration(5)));
  CHECK(steps.find(41020) == Iteration(2));
  CHECK(steps.find(41010) == Iteration(7));
  CHECK_FALSE(steps.find(41011));
  CHECK(steps.first() == 41000);
  CHECK(steps.last() == 41030);
  CHECK(steps.nearest(0) == Iteration(0));
  CHECK(steps.nearest(41024) == Iteration(2));
  CHECK(steps.nearest(41026) == Iteration(3));
  CHECK(steps.nearest(99999) == Iteration(3));
  CHECK(steps.text(Iteration(2)) == "2 (step 41020)");
  CHECK(steps.text(Iteration(5)) == "5");
}

TEST_CASE("The steps of a run are its scalar `step`, where that is a whole number") {
  test::FakeRun run(test::modelGraph(), 1, 5);
  run.rows.record(Rank(0), Iteration(0), core::TensorId(0), core::Tensor(core::DType::Float32, {1}));
  CHECK(replay::userSteps(run, Rank(0)).empty());
  const double told[] = {41000, 41001.5, NAN, 1e300, -3};
  for (std::int64_t i = 0; i < 5; ++i) run.scalars["step"][{Rank(0), Iteration(i)}] = told[i];
  CHECK(replay::userStep(run, Rank(0), Iteration(0)) == 41000);
  for (const std::int64_t none : {1, 2, 3}) CHECK_FALSE(replay::userStep(run, Rank(0), Iteration(none)));
  CHECK(replay::userStep(run, Rank(0), Iteration(4)) == -3);
  CHECK(replay::iterationText(run, Rank(0), Iteration(0)) == "0 (step 41000)");
  CHECK(replay::iterationText(run, Rank(0), Iteration(1)) == "1");
}
