// stopGradient(): a constant for the gradients, by closed forms.
#include <catch2/catch.hpp>

#include "core_engine/ops/cut_off.h"
#include "core_engine/ops/functions.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using msdbg::test::PlainRun;

namespace {

/// p after one step of SGD with rate 1, from 3: 3 - dLoss/dp.
double stepped(Value (*lossOf)(Value p)) {
  Graph g("network", DType::Float64);
  const Value p = g.parameter("p", {1}, Init::constant(3));
  const Value x = g.input("x", {1});
  PlainRun run;
  Trainer trainer(run, g, reduceSum(lossOf(p) + x * 0.0, {}, false), Sgd{.lr = 1});
  Tensor one(DType::Float64, {1});
  one.data<double>()[0] = 1;
  trainer.step({Iteration(0), {{"x", one}}});
  return trainer.value(p).at(0);
}

}  // namespace

TEST_CASE("No gradient comes back through stopGradient, all of it beside") {
  CHECK(stepped([](Value p) { return p * p; }) == 3 - 6);
  CHECK(stepped([](Value p) { return p * stopGradient(p); }) == 3 - 3);
  CHECK(stepped([](Value p) { return p + stopGradient(p * p - p); }) == 3 - 1);  // straight through
  CHECK(stepped([](Value p) { return exp(stopGradient(p)) * p - stopGradient(p) * p; }) ==
        Approx(3 - (std::exp(3.0) - 3)).epsilon(1e-15));
}

TEST_CASE("Two players in one Trainer: each learns by its own loss only") {
  Graph g("game", DType::Float64);
  const Value made = g.parameter("made", {1}, Init::constant(2)),
              judge = g.parameter("judge", {1}, Init::constant(5));
  const Value x = g.input("x", {1});
  const Value judged = stopGradient(made) * judge * x, fooled = made * stopGradient(judge) * x * -1.0;
  PlainRun run;
  Trainer trainer(run, g, reduceSum(judged + fooled, {}, false), Sgd{.lr = 0.5});
  CHECK(cutOffParameters(g).empty());
  Tensor one(DType::Float64, {1});
  one.data<double>()[0] = 1;
  trainer.step({Iteration(0), {{"x", one}}});
  CHECK(trainer.value(judge).at(0) == 5 - 0.5 * 2);
  CHECK(trainer.value(made).at(0) == 2 + 0.5 * 5);
}

TEST_CASE("A parameter that is reached through stopGradient only is cut off, and named with the line") {
  Graph g("network");
  const Value p = g.parameter("p", {1}, Init::ones()), q = g.parameter("q", {1}, Init::ones());
  const Value x = g.input("x", {1});
  PlainRun run;
  const Value loss = reduceSum(stopGradient(p * x) * q, {}, false);
  Trainer trainer(run, g, loss, Sgd{.lr = 0.5});
  const std::vector<CutOff> cut = cutOffParameters(g);
  REQUIRE(cut.size() == 1);
  CHECK_THAT(
      cut[0].sentence,
      Catch::Contains("no gradient reaches network/p: stopped by StopGradient at stop_gradient_test.cpp:"));
}

TEST_CASE("A loss that no gradient leaves is refused with what stops it") {
  const auto refused = [](Value (*lossOf)(Value)) {
    Graph g("network");
    const Value p = g.parameter("p", {1, 3}, Init::ones()), x = g.input("x", {1, 3});
    PlainRun run;
    const Value loss = reduceSum(lossOf(p * x) * 2.0, {}, false);
    try {
      Trainer trainer(run, g, loss, Sgd{});
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused([](Value y) { return stopGradient(y); }),
             Catch::Contains("depends on no trainable parameter; no gradient comes back through "
                             "network/StopGradient-op1 (tests/autodiff/stop_gradient_test.cpp:"));
  CHECK_THAT(refused([](Value y) { return cast(argMax(y), DType::Float32); }),
             Catch::Contains("no gradient comes back through network/ArgMax-op1"));
}
