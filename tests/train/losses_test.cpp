// Losses against their formulas and central differences, and a custom one.
#include "core_engine/train/losses.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "core_engine/autodiff/autodiff.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"
#include "tests/ops/samples.h"
#include "tests/support/interpreter.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using namespace msdbg::test;
using Catch::Matchers::Contains;

namespace {

using List = std::vector<double>;
using Loss = std::function<Value(Value, Value)>;

struct Answer {
  double loss;
  List gradient;
};

Answer answerOf(const Loss& loss, const List& prediction, const Tensor& target) {
  Graph g("net", DType::Float64);
  const Shape shape{static_cast<std::int64_t>(prediction.size())};
  const Value p = g.parameter("p", shape, Init::zeros()), t = g.input("t", shape, target.dtype());
  const Value result = loss(p, t);
  CHECK(result.shape() == Shape{});
  const auto gradients = addGradients(g, result.id(), 1.0);
  REQUIRE(gradients.ok());
  Interpreter run(g);
  run.set(p.id(), tensorOf(shape, prediction));
  run.set(t.id(), target);
  REQUIRE(run.run().ok());
  return {run.value(result.id()).at(0), valuesOf(run.value(gradients->at(p.id())))};
}

Tensor row(const List& values) { return tensorOf({static_cast<std::int64_t>(values.size())}, values); }

/// The gradient is that of the loss itself, moved a little.
void checkDifferences(const Loss& loss, const List& prediction, const Tensor& target) {
  const Answer answer = answerOf(loss, prediction, target);
  for (std::size_t i = 0; i < prediction.size(); ++i) {
    const auto at = [&](double by) {
      List moved = prediction;
      moved[i] += by;
      return answerOf(loss, moved, target).loss;
    };
    CHECK(answer.gradient[i] == Approx((at(1e-5) - at(-1e-5)) / 2e-5).epsilon(1e-7).margin(1e-9));
  }
}

const Loss kSquared = [](Value p, Value t) { return meanSquaredError(p, t); };
const Loss kAbsolute = [](Value p, Value t) { return meanAbsoluteError(p, t); };
const Loss kBinary = [](Value p, Value t) { return binaryCrossEntropyWithLogits(p, t); };

template <typename Build>
std::string buildError(Build build) {
  try {
    build();
  } catch (const BuildError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("meanSquaredError and meanAbsoluteError are means over all elements") {
  const Tensor target = row({1, 1, -1, 0});
  CHECK(answerOf(kSquared, {3, 1, -2, 0.5}, target).loss == Approx((4 + 0 + 1 + 0.25) / 4));
  CHECK(answerOf(kAbsolute, {3, 1, -2, 0.5}, target).loss == Approx((2 + 0 + 1 + 0.5) / 4));
  CHECK(answerOf(kAbsolute, {3, 1, -2, 0.5}, target).gradient == List{0.25, 0, -0.25, 0.25});
  checkDifferences(kSquared, {3, 1, -2, 0.5}, target);
  checkDifferences(kAbsolute, {3, 0.9, -2, 0.5}, target);
}

TEST_CASE("binaryCrossEntropyWithLogits is -t ln(s) - (1 - t) ln(1 - s), with its gradient s - t") {
  const List logits{0, 1.5, -2, 0.25}, targets{1, 0, 1, 0.3};
  double wanted = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double s = 1 / (1 + std::exp(-logits[i]));
    wanted -= (targets[i] * std::log(s) + (1 - targets[i]) * std::log(1 - s)) / 4;
  }
  const Answer answer = answerOf(kBinary, logits, row(targets));
  CHECK(answer.loss == Approx(wanted).epsilon(1e-14));
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(answer.gradient[i] == Approx((1 / (1 + std::exp(-logits[i])) - targets[i]) / 4).epsilon(1e-14));
  checkDifferences(kBinary, logits, row(targets));
}

TEST_CASE("binaryCrossEntropyWithLogits neither overflows nor becomes NaN, however sure the logits are") {
  const Answer right = answerOf(kBinary, {800, -800}, row({1, 0})),
               wrong = answerOf(kBinary, {800, -800}, row({0, 1}));
  CHECK(right.loss == 0);
  CHECK(wrong.loss == 800);
  CHECK(wrong.gradient == List{0.5, -0.5});
  CHECK(answerOf(kBinary, {40}, row({1})).loss == Approx(std::exp(-40.0)).epsilon(1e-10));
}

TEST_CASE("Targets of binaryCrossEntropyWithLogits may be integers or bools") {
  const double wanted = answerOf(kBinary, {0.5, -1}, row({1, 0})).loss;
  CHECK(answerOf(kBinary, {0.5, -1}, labelsOf({1, 0})).loss == wanted);
  CHECK(answerOf(kBinary, {0.5, -1}, row({1, 0}).cast(DType::Bool)).loss == wanted);
}

TEST_CASE("A prediction [N, 1] beside a target [N] is refused where it is written, with both shapes") {
  Graph g;
  const Value prediction = g.input("p", {8, 1}), target = g.input("t", {8});
  const int line = __LINE__ + 1;
  const std::string squared = buildError([&] { meanSquaredError(prediction, target); });
  CHECK_THAT(squared, Contains("meanSquaredError") && Contains("[8, 1]") && Contains("[8]") &&
                          Contains("losses_test.cpp:" + std::to_string(line)));
  CHECK_THAT(buildError([&] { meanAbsoluteError(prediction, target); }), Contains("[8, 1]"));
  CHECK_THAT(buildError([&] { binaryCrossEntropyWithLogits(prediction, target); }),
             Contains("logits is [8, 1]"));
  CHECK_THAT(buildError([&] { meanSquaredError(Value(), target); }),
             Contains("prediction is an empty Value"));
  CHECK_THAT(buildError([&] { meanSquaredError(prediction, Value()); }),
             Contains("target is an empty Value"));
}

TEST_CASE("The nodes of a loss are on the caller's line") {
  Graph g;
  const Value p = g.input("p", {8}), t = g.input("t", {8});
  const Value loss = binaryCrossEntropyWithLogits(p, t);
  const int line = __LINE__ - 1;
  for (const Node& node : g.nodes()) {
    INFO(node.name);
    CHECK(g.userFrame(node.frames)->line == line);
  }
  CHECK(g.node(loss.info().producer).opType == "ReduceMean");
}

TEST_CASE("Any scalar is a loss: Huber's, written by its formula, trains and is the graph's loss") {
  PlainRun run;
  Graph g("net", DType::Float64);
  const Value target = g.input("target", {3}), y = g.parameter("y", {3}, Init::zeros());
  const Value error = abs(y - target), one = constant(g, 1, {}, DType::Float64, Where::current());
  const Value huber = reduceMean(where(less(error, one), 0.5 * error * error, error - 0.5), {}, false);
  Trainer trainer(run, g, huber, Sgd{.lr = 0.3});
  CHECK(g.tensor(huber.id()).role == TensorRole::kLoss);
  const Batch batch{Iteration{0}, {{"target", row({0.5, -3, 1})}}};
  const double first = trainer.step(batch).loss;
  CHECK(first == Approx((0.125 + 2.5 + 0.5) / 3));
  // Gradients are y - target within 1 of it, its sign beyond, over 3.
  const Tensor& now = trainer.executor().value(y.id());
  CHECK(now.at(0) == Approx(0.3 * 0.5 / 3));
  CHECK(now.at(1) == Approx(-0.3 / 3));
  CHECK(trainer.step(batch).loss < first);
}
