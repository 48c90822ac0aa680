#include "core_engine/train/mutable_input.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/batch_inputs.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;

namespace {

Batch batchOf(std::int64_t rows, double shift = 0) {
  Tensor x(DType::Float32, {rows, 3}), label(DType::Int64, {rows});
  for (std::int64_t i = 0; i < 3 * rows; ++i)
    x.data<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(std::sin(1.7 * static_cast<double>(i)) + shift);
  for (std::int64_t i = 0; i < rows; ++i) label.data<std::int64_t>()[static_cast<std::size_t>(i)] = i % 2;
  return {Iteration(0), {{"x", x}, {"label", label}}};
}

/// With everything that training carries: running values, moments of Adam, dropout by iteration.
struct Model {
  Graph g{"network"};
  Value loss;
  explicit Model(std::int64_t rows) {
    Value x = mutableInput(g, "x", {rows, 3});
    const Value label = mutableInput(g, "label", {rows}, DType::Int64);
    x = relu(batchNorm(linear(x, {.out = 5})));
    loss = softmaxCrossEntropy(linear(dropout(x, 0.25), {.out = 2}), label);
  }
};

struct Versions : Observer {
  std::vector<std::int64_t> versions;
  void graphReady(const Graph& graph) override { versions.push_back(graph.version()); }
  void iterationStarted(Iteration) override {}
  void tensorReady(const TensorReady&) override {}
  void iterationFinished(Iteration, const Scalars&) override {}
};

bool sameState(const TrainingState& a, const TrainingState& b) {
  return a.iteration == b.iteration && a.tensors.size() == b.tensors.size() &&
         std::ranges::equal(a.tensors, b.tensors, [](const auto& left, const auto& right) {
           return left.first == right.first && hashTensor(left.second) == hashTensor(right.second);
         });
}

template <typename F>
std::string messageOf(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

// d loss / d x = (softmax(z) - onehot) W / rows, from the textbook.
TEST_CASE("the gradient of a mutable input is that of softmax regression by hand") {
  Graph g("small", DType::Float64);
  const Value x = mutableInput(g, "x", {4, 3}), label = g.input("label", {4}, DType::Int64);
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 2}), label);
  PlainRun run;
  Trainer trainer(run, g, loss, Sgd{.lr = 0.5});
  const Batch batch = batchOf(4);
  std::array<double, 6> w{};
  for (std::size_t i = 0; i < 6; ++i)
    w[i] = trainer.executor().value(*g.findTensor("small/weight")).at(static_cast<std::int64_t>(i));
  trainer.step(batch);
  const Tensor gradient = trainer.gradient(x);
  REQUIRE(gradient.shape() == Shape{4, 3});
  for (std::size_t n = 0; n < 4; ++n) {
    double z[2] = {0, 0};
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t c = 0; c < 2; ++c)
        z[c] += w[c * 3 + k] * batch.find("x")->at(static_cast<std::int64_t>(n * 3 + k));
    const double sum = std::exp(z[0]) + std::exp(z[1]);
    for (std::size_t k = 0; k < 3; ++k) {
      double expected = 0;
      for (std::size_t c = 0; c < 2; ++c)
        expected += (std::exp(z[c]) / sum - (c == n % 2)) * w[c * 3 + k] / 4;
      CHECK(gradient.at(static_cast<std::int64_t>(n * 3 + k)) == Approx(expected).epsilon(1e-12));
    }
  }
  CHECK_FALSE(g.findTensor("next(small/x)"));  // nothing updates an input
}

TEST_CASE("a mutable input changes neither the graph's parameters nor a bit of their training") {
  const auto trained = [](bool isMutable) {
    Graph g("network");
    const Value x = isMutable ? mutableInput(g, "x", {4, 3}) : g.input("x", {4, 3});
    const Value label = g.input("label", {4}, DType::Int64);
    const Value loss = softmaxCrossEntropy(linear(relu(linear(x, {.out = 5})), {.out = 2}), label);
    PlainRun run;
    Trainer trainer(run, g, loss, Adam{.lr = 0.01});
    for (int i = 0; i < 3; ++i) trainer.step(batchOf(4, i));
    return trainer.state();
  };
  CHECK(sameState(trained(true), trained(false)));
}

TEST_CASE("other values need no new graph, another shape gives it a new version") {
  Model model(4);
  Versions seen;
  PlainRun run;
  run.watching = &seen;
  Trainer trainer(run, model.g, model.loss, Adam{.lr = 0.01});
  trainer.step(batchOf(4));
  trainer.step(batchOf(4, 1));
  CHECK(seen.versions == std::vector<std::int64_t>{0});
  trainer.step(batchOf(6));
  trainer.step(batchOf(6, 1));
  trainer.step(batchOf(4));
  CHECK(seen.versions == std::vector<std::int64_t>{0, 1, 2});
  CHECK(model.g.version() == 2);
  CHECK(model.g.tensor(*model.g.findTensor("network/x")).shape == Shape{4, 3});
  CHECK(trainer.iteration() == Iteration(5));
}

TEST_CASE("training goes on through a change of shape with the bits of a trainer made for that shape") {
  Model model(4), other(6);
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, Adam{.lr = 0.01});
  trainer.step(batchOf(4));
  const TrainingState before = trainer.state();
  trainer.step(batchOf(6));
  trainer.step(batchOf(6, 1));
  Trainer made(run, other.g, other.loss, Adam{.lr = 0.01});
  made.restore(before);
  made.step(batchOf(6));
  made.step(batchOf(6, 1));
  CHECK(sameState(trainer.state(), made.state()));
  CHECK_FALSE(sameState(trainer.state(), before));
}

TEST_CASE("the reason of a new version is told in a sentence") {
  Model model(4);
  BatchInputs inputs(model.g);
  const auto changed = inputs.changedShapes(batchOf(2)).orThrow();
  CHECK(changeText(model.g, changed) ==
        "input network/x changed from [4, 3] to [2, 3], input network/label changed from [4] to [2]");
  CHECK(inputs.changedShapes(batchOf(4)).orThrow().empty());
}

TEST_CASE("held-out batches may have another shape than the training's") {
  struct Rows : DataLoader {
    std::int64_t rows;
    explicit Rows(std::int64_t count) : rows(count) {}
    Batch batch(Iteration iteration, Rank, int) const override {
      return batchOf(rows, static_cast<double>(iteration.value));
    }
    std::int64_t batchSize() const override { return rows; }
    std::int64_t iterationsPerEpoch(int) const override { return 2; }
    std::string description() const override { return "rows"; }
  };
  Model model(4), other(7);
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, {}), made(run, other.g, other.loss, {});
  made.restore(trainer.state());
  const EvaluationResult seen = trainer.evaluate(Rows(7)), expected = made.evaluate(Rows(7));
  CHECK(seen.loss == expected.loss);
  CHECK(seen.accuracy == expected.accuracy);
  CHECK(model.g.version() == 0);
  trainer.step(batchOf(4));
  CHECK(std::isfinite(trainer.evaluate(Rows(4)).loss));
}

TEST_CASE("a shape that the model cannot take ends the step with the reason, and nothing is changed") {
  Graph g("network");
  const Value x = mutableInput(g, "x", {4, 3}), label = g.input("label", {4}, DType::Int64);
  PlainRun run;
  Trainer trainer(run, g, softmaxCrossEntropy(linear(x, {.out = 2}), label), {});
  const TrainingState before = trainer.state();
  CHECK_THAT(messageOf([&] { trainer.step(batchOf(2)); }),  // the label is not mutable
             Contains("iteration 0: input network/x changed from [4, 3] to [2, 3]: ") &&
                 Contains("network/SoftmaxCrossEntropyLoss-op1 (") && Contains("cannot take the new shapes"));
  Batch wide = batchOf(4);
  wide.tensors[0].second = Tensor::zeros(DType::Float32, {4, 5});
  CHECK_THAT(messageOf([&] { trainer.step(wide); }), Contains("network/Gemm-op1") && Contains("[4, 5]"));
  CHECK(g.version() == 0);
  CHECK(sameState(trainer.state(), before));
  CHECK(std::isfinite(trainer.step(batchOf(4)).loss));
}
