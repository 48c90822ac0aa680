// Layers with states and embeddings, through a Trainer.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/runtime/executor.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using msdbg::test::PlainRun;

namespace {

/// batchNorm of x [4, 2], then a linear layer and a loss.
struct Normed {
  Graph g{"net", DType::Float64};
  Value x = g.input("x", {4, 2}), label = g.input("label", {4}, DType::Int64), y, loss;

  Normed() {
    const Scope scope = g.scope("bn");
    y = batchNorm(x, {.epsilon = 0, .momentum = 0.75});
    loss = softmaxCrossEntropy(linear(y, {.out = 2}), label);
  }
  Batch batch() const {
    const double rows[] = {1, 2, 3, 2, 5, 2, 7, 6};  // columns: mean 4, variance 5; mean 3, variance 3
    const std::int64_t labels[] = {0, 1, 0, 1};
    return {Iteration{0},
            {{"x", Tensor::of<double>({4, 2}, rows)}, {"label", Tensor::of<std::int64_t>({4}, labels)}}};
  }
};

double valueOf(Trainer& trainer, const Graph& g, const char* name, std::int64_t i) {
  return trainer.executor().value(g.findTensor(name).value()).at(i);
}

}  // namespace

TEST_CASE("batchNorm mixes the batch into its running values, iteration by iteration") {
  PlainRun run;
  Normed n;
  Trainer trainer(run, n.g, n.loss, Sgd{});
  double mean = 0, variance = 1;
  for (int i = 0; i < 3; ++i) {
    trainer.step(n.batch());
    mean = 0.75 * mean + 0.25 * 4;
    variance = 0.75 * variance + 0.25 * 5;
    CHECK(valueOf(trainer, n.g, "net/bn/running_mean", 0) == Approx(mean));
    CHECK(valueOf(trainer, n.g, "net/bn/running_var", 0) == Approx(variance));
  }
}

TEST_CASE("batchNorm normalises by the running values in evaluation, and does not change them") {
  PlainRun run;
  Normed n;
  Trainer trainer(run, n.g, n.loss, Sgd{});
  trainer.step(n.batch());
  const double mean = valueOf(trainer, n.g, "net/bn/running_mean", 0),
               variance = valueOf(trainer, n.g, "net/bn/running_var", 0);
  const double scale = valueOf(trainer, n.g, "net/bn/scale", 0),
               bias = valueOf(trainer, n.g, "net/bn/bias", 0);
  const Batch batch = n.batch();
  Feeds feeds;
  for (const auto& [name, tensor] : batch.tensors)
    feeds.emplace_back(n.g.findTensor("net/" + name).value(), tensor);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(trainer.executor().evaluate(feeds).ok());
    CHECK(trainer.executor().value(n.y.id()).at(0) ==
          Approx((1 - mean) / std::sqrt(variance) * scale + bias));
  }
  CHECK(valueOf(trainer, n.g, "net/bn/running_mean", 0) == mean);
}

TEST_CASE("Running values are states of their own rank, not parameters") {
  Normed n;
  const TensorInfo& mean = n.g.tensor(n.g.findTensor("net/bn/running_mean").value());
  CHECK(mean.role == TensorRole::kOptimizerState);
  CHECK_FALSE(mean.trainable);
  CHECK_FALSE(mean.replicated);
  const TensorInfo& next = n.g.tensor(n.g.findTensor("next(net/bn/running_mean)").value());
  CHECK(next.updateOf == mean.id);
  CHECK(next.role == TensorRole::kUpdated);
}

TEST_CASE("A loss that depends on a statistic is refused, with the node's name") {
  Graph g("net", DType::Float64);
  const Value x = g.input("x", {4, 3});
  const Value p = parameter(g, "p", {3}, DType::Float64, {}, Where::current());
  const std::vector<Value> in{x + p, p};
  const auto out = applyOp("LayerNormalization", in, {}, Where::current());
  const Value loss = reduceSum(out[1], {}, false);
  PlainRun run;
  CHECK_THROWS_WITH(Trainer(run, g, loss, Sgd{}),
                    Catch::Contains("LayerNormalization-op1") && Catch::Contains("output 1"));
}

TEST_CASE("An embedding learns the rows that were looked up, and no others") {
  PlainRun run;
  Graph g("net");
  const Value ids = g.input("x", {2, 2}, DType::Int64), label = g.input("label", {2, 2}, DType::Int64);
  const Value rows = reshape(embedding(ids, {.count = 5, .width = 3}), {-1, 3});
  const Value loss = softmaxCrossEntropy(rows, reshape(label, {-1}));
  Trainer trainer(run, g, loss, Sgd{.lr = 1});
  const Tensor before = trainer.executor().value(g.findTensor("net/weight").value()).clone();
  const std::int64_t looked[] = {1, 3, 3, -4}, labels[] = {0, 1, 2, 0};
  trainer.step({Iteration{0},
                {{"x", Tensor::of<std::int64_t>({2, 2}, looked)},
                 {"label", Tensor::of<std::int64_t>({2, 2}, labels)}}});
  const Tensor& after = trainer.executor().value(g.findTensor("net/weight").value());
  for (std::int64_t row = 0; row < 5; ++row)
    CHECK((before.at(row * 3) != after.at(row * 3)) == (row == 1 || row == 3));
}

TEST_CASE("A convolution may have groups and dilation") {
  Graph g("net");
  const Value x = g.input("x", {2, 4, 9, 9});
  const Value y = conv(x, {.out = 6, .kernel = 3, .pad = 2, .group = 2, .dilation = 2});
  CHECK(y.shape() == Shape{2, 6, 9, 9});
  CHECK(g.tensor(g.findTensor("net/weight").value()).shape == Shape{6, 2, 3, 3});
  CHECK_THROWS_WITH(conv(x, {.out = 6, .group = 3}), Catch::Contains("group"));
}
