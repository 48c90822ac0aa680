// What a program reads of its own training: values, gradients, predictions; and what it sets.
#include "core_engine/train/keep.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/freeze.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;

namespace {

Tensor waves(const Shape& shape, double phase = 0) {
  Tensor made(DType::Float32, shape);
  for (std::int64_t i = 0; i < made.elements(); ++i)
    made.data<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(std::sin(1.3 * static_cast<double>(i) + phase));
  return made;
}

Batch batchOf(std::int64_t rows, double phase = 0) {
  Tensor label(DType::Int64, {rows});
  for (std::int64_t i = 0; i < rows; ++i) label.data<std::int64_t>()[static_cast<std::size_t>(i)] = i % 3;
  return {Iteration(0), {{"x", waves({rows, 4}, phase)}, {"label", label}}};
}

/// With what is otherwise in training: running values, dropout, an activation that is fused away.
struct Model {
  Graph g{"network"};
  Value x, hidden, logits, loss;
  explicit Model(bool kept) {
    x = g.input("x", {8, 4});
    const Value label = g.input("label", {8}, DType::Int64);
    hidden = relu(batchNorm(linear(x, {.out = 5})));
    logits = linear(dropout(hidden, 0.25), {.out = 3});
    if (kept) keep(hidden), keep(logits);
    loss = softmaxCrossEntropy(logits, label);
  }
};

std::string messageOf(const auto& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> hashesOf(const TrainingState& state) {
  std::vector<std::string> hashes;
  for (const auto& [name, tensor] : state.tensors) hashes.push_back(name + " " + hashTensor(tensor).text());
  return hashes;
}

/// Mean cross-entropy and its gradient by the logits, from the textbook.
std::pair<double, Tensor> crossEntropy(const Tensor& logits, const Tensor& label) {
  const std::int64_t rows = logits.shape()[0], classes = logits.shape()[1];
  Tensor slope(DType::Float32, logits.shape());
  double loss = 0;
  for (std::int64_t n = 0; n < rows; ++n) {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(logits.at(n * classes + c));
    for (std::int64_t c = 0; c < classes; ++c) {
      const bool isTarget = c == static_cast<std::int64_t>(label.at(n));
      const double share = std::exp(logits.at(n * classes + c)) / sum;
      if (isTarget) loss -= std::log(share) / static_cast<double>(rows);
      slope.data<float>()[static_cast<std::size_t>(n * classes + c)] =
          static_cast<float>((share - isTarget) / static_cast<double>(rows));
    }
  }
  return {loss, slope};
}

}  // namespace

TEST_CASE("What is kept is read after a step, with its gradient") {
  Model model(true);
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.1});
  CHECK_THAT(messageOf([&] { trainer.value(model.logits); }), Contains("has a value after a step"));
  const Batch batch = batchOf(8);
  for (int i = 0; i < 3; ++i) {
    const StepResult step = trainer.step(batch);
    const auto [loss, slope] = crossEntropy(trainer.value(model.logits), *batch.find("label"));
    CHECK(step.loss == Approx(loss).epsilon(1e-5));
    CHECK(trainer.value(model.loss).at(0) == step.loss);
    const Tensor gradient = trainer.gradient(model.logits);
    REQUIRE(gradient.shape() == slope.shape());
    for (std::int64_t e = 0; e < slope.elements(); ++e)
      CHECK(gradient.at(e) == Approx(slope.at(e)).margin(1e-6));
    const Tensor hidden = trainer.value(model.hidden);
    std::int64_t zeros = 0;
    for (std::int64_t e = 0; e < hidden.elements(); ++e) zeros += hidden.at(e) == 0;
    CHECK((zeros > 0 && zeros < hidden.elements()));
    CHECK(hashTensor(trainer.value(model.x)) == hashTensor(*batch.find("x")));
  }
}

TEST_CASE("Keeping and predicting change no bit of the training") {
  const auto trained = [](bool kept) {
    Model model(kept);
    PlainRun run;
    Trainer trainer(run, model.g, model.loss, Adam{.lr = 0.01});
    for (int i = 0; i < 4; ++i) {
      trainer.step(batchOf(8, i));
      if (!kept) continue;
      trainer.value(model.hidden);
      trainer.predict(batchOf(8, 7), model.logits);
    }
    return hashesOf(trainer.state());
  };
  CHECK(trained(true) == trained(false));
}

TEST_CASE("What is not kept, or of another graph, is refused with what to do") {
  Model model(false);
  Graph other("other");
  const Value stranger = other.input("x", {2});
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.1});
  trainer.step(batchOf(8));
  CHECK_THAT(messageOf([&] { trainer.value(model.hidden); }),
             Contains("Relu-op1 is not kept; call keep() with it before the Trainer is made, or predict()"));
  CHECK_THAT(messageOf([&] { trainer.gradient(model.logits); }), Contains("is not kept"));
  CHECK_THAT(messageOf([&] { trainer.gradient(model.x); }), Contains("none reaches network/x"));
  CHECK_THAT(messageOf([&] { trainer.value(stranger); }), Contains("of another graph"));
  CHECK_THAT(messageOf([&] { trainer.value(Value()); }), Contains("the Value is empty"));
  CHECK_THAT(messageOf([&] { keep(model.hidden); }), Contains("has its Trainer already"));
  CHECK_THAT(messageOf([&] { keep(Value()); }), Contains("empty Value"));
  CHECK_THAT(messageOf([&] {
               trainer.setValue(model.hidden, waves({8, 5}));
             }),
             Contains("is no parameter, state or constant"));
}

TEST_CASE("A prediction is the model in evaluation, of any number of rows and without labels") {
  Model model(false);
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.1});
  for (int i = 0; i < 5; ++i) trainer.step(batchOf(8, i));
  const Batch whole = batchOf(8, 0.5);
  const std::vector<Value> both{model.logits, model.loss};
  const std::vector<Tensor> made = trainer.predict(whole, both);
  CHECK(made[1].at(0) == Approx(crossEntropy(made[0], *whole.find("label")).first).epsilon(1e-5));
  for (const std::int64_t rows : {1, 3, 8}) {
    const Batch some{Iteration(0), {{"x", waves({rows, 4}, 0.5)}}};
    const Tensor logits = trainer.predict(some, model.logits);
    REQUIRE(logits.shape() == Shape{rows, 3});
    for (std::int64_t e = 0; e < logits.elements(); ++e)
      CHECK(logits.at(e) == Approx(made[0].at(e)).margin(1e-6));
  }
  trainer.step(batchOf(8, 6));
  const Batch row{Iteration(0), {{"x", waves({1, 4}, 0.5)}}};
  CHECK(trainer.predict(row, model.logits).at(0) != made[0].at(0));  // with the weights of now
  CHECK_THAT(messageOf([&] { trainer.predict({Iteration(0), {}}, model.logits); }), Contains("x"));
  CHECK_THAT(messageOf([&] {
               trainer.predict({Iteration(0), {{"x", waves({2, 5})}}}, model.logits);
             }),
             Contains("cannot take the new shapes"));
}

TEST_CASE("A parameter is read and set: a target network takes over what was learnt") {
  Graph g("network");
  const Value x = g.input("x", {2, 3});
  const Value online = g.parameter("online", {3, 1}, Init::ones()),
              target = g.parameter("target", {3, 1}, Init::zeros());
  freeze(target);
  const Value gap = matmul(x, online) - stopGradient(matmul(x, target) + 1.0);
  PlainRun run;
  Trainer trainer(run, g, reduceMean(gap * gap, {}, false), Sgd{.lr = 0.05});
  const Batch batch{Iteration(0), {{"x", waves({2, 3})}}};
  trainer.step(batch);
  CHECK(trainer.value(target).at(0) == 0);
  const Tensor learnt = trainer.value(online);
  CHECK(learnt.at(0) != 1);
  trainer.setValue(target, learnt);
  CHECK(hashTensor(trainer.value(target)) == hashTensor(learnt));
  CHECK_THAT(messageOf([&] { trainer.setValue(target, waves({3})); }),
             Contains("float32[3, 1], not float32[3]"));
  const StepResult step = trainer.step(batch);
  CHECK(step.loss == Approx(1));  // both are the same but for the 1
}
