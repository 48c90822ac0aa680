// Gradient accumulation: k micro batches and one update give what one batch of all their rows gives.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/array_loader.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;

namespace {

/// Mean squared distance of a linear map from the target, over `rows` rows.
struct Model {
  Graph g;
  Value x, y, weight, loss;
  explicit Model(std::int64_t rows, DType dtype = DType::Float64)
      : g("net", dtype), x(g.input("x", {rows, 3})), y(g.input("y", {rows, 2})) {
    weight = g.parameter("weight", {3, 2}, Init::normal(0.5));
    const Value error = matmul(x, weight) - y;
    loss = reduceMean(error * error, {}, false);
  }
};

Arrays data(DType dtype = DType::Float64) {
  Tensor x(DType::Float64, {24, 3}), y(DType::Float64, {24, 2});
  for (std::size_t i = 0; i < 72; ++i) x.data<double>()[i] = std::sin(1.7 * static_cast<double>(i));
  for (std::size_t i = 0; i < 48; ++i) y.data<double>()[i] = std::cos(0.9 * static_cast<double>(i));
  return {{"x", x.cast(dtype)}, {"y", y.cast(dtype)}};
}

Tensor train(std::int64_t rows, const Optimizer& optimizer, int steps) {
  PlainRun run;
  Model model(rows);
  const auto loader = makeArrayLoader(data(), {.batch = rows, .shuffle = false}).orThrow();
  Trainer trainer(run, model.g, model.loss, optimizer);
  for (int i = 0; i < steps; ++i) trainer.step(loader->batch(Iteration{i}, Rank{0}, 1));
  return trainer.executor().value(model.weight.id()).clone();
}

void checkClose(const Tensor& got, const Tensor& wanted) {
  for (std::int64_t i = 0; i < got.elements(); ++i) CHECK(got.at(i) == Approx(wanted.at(i)).epsilon(1e-12));
}

Optimizer accumulating(Optimizer optimizer, std::int64_t steps) {
  optimizer.accumulate = steps;
  return optimizer;
}

/// Sees everything and asks for both values of every update.
struct Curious : Observer {
  void graphReady(const Graph&) override {}
  void iterationStarted(Iteration) override {}
  void iterationFinished(Iteration, const Scalars&) override {}
  UpdateWish updateWish(Iteration, TensorId) override { return UpdateWish::kPrevious; }
  void tensorReady(const TensorReady&) override { ++seen; }
  int seen = 0;
};

}  // namespace

TEST_CASE("Four micro batches of 2 rows train like one batch of 8, with every optimizer") {
  for (const Optimizer& optimizer :
       {Optimizer(Sgd{.lr = 0.1}), Optimizer(Sgd{.lr = 0.1, .momentum = 0.9, .weightDecay = 0.01}),
        Optimizer(Adam{.lr = 0.05}), Optimizer(AdamW{.lr = 0.05, .weightDecay = 0.1})})
    checkClose(train(2, accumulating(optimizer, 4), 12), train(8, optimizer, 3));
}

TEST_CASE("Clipping by the norm acts on the accumulated gradient") {
  Optimizer optimizer = Sgd{.lr = 0.1};
  optimizer.clipNorm = 0.05;
  checkClose(train(2, accumulating(optimizer, 4), 12), train(8, optimizer, 3));
}

TEST_CASE("A schedule counts updates, not micro batches") {
  Optimizer optimizer = Sgd{.lr = 0.1};
  optimizer.schedule = stepSchedule(1, 0.5);
  checkClose(train(2, accumulating(optimizer, 4), 12), train(8, optimizer, 3));
  CHECK(accumulating(optimizer, 4).rateAt(Iteration{7}) == 0.05);
}

TEST_CASE("Between updates parameters, momentum and the step count keep their bits") {
  PlainRun run;
  Model model(2);
  const auto loader = makeArrayLoader(data(), {.batch = 2, .shuffle = false}).orThrow();
  Trainer trainer(run, model.g, model.loss, accumulating(Adam{.lr = 0.1}, 3));
  const auto hash = [&](const char* name) {
    return hashTensor(trainer.executor().value(model.g.findTensor(name).value()));
  };
  for (int i = 0; i < 7; ++i) {
    const Hash128 weight = hash("net/weight"), mean = hash("exp_avg(net/weight)");
    trainer.step(loader->batch(Iteration{i}, Rank{0}, 1));
    INFO("iteration " << i);
    CHECK((hash("net/weight") == weight) == (i % 3 != 2));
    CHECK((hash("exp_avg(net/weight)") == mean) == (i % 3 != 2));
    CHECK(trainer.executor().value(model.g.findTensor("optimizer/step").value()).at(0) == (i + 1) / 3);
    CHECK(trainer.executor().value(model.g.findTensor("optimizer/micro_step").value()).at(0) == (i + 1) % 3);
  }
}

TEST_CASE("Accumulated gradients are tensors of the graph; grad(P) is the micro batch's own") {
  Model model(2);
  PlainRun run;
  const Trainer trainer(run, model.g, model.loss, accumulating(Sgd{.lr = 0.1}, 2));
  const TensorInfo& sum = model.g.tensor(model.g.findTensor("accumulated_grad(net/weight)").value());
  CHECK(sum.updateOf == model.g.findTensor("accumulated(net/weight)").value());
  const Node& maker = model.g.node(sum.producer);
  CHECK(maker.opType == "AccumulateGradient");
  CHECK(maker.phase == Phase::kUpdate);
  CHECK(maker.inputs[0] == model.g.findTensor("grad(net/weight)").value());
  const Node& update = model.g.node(model.g.tensor(model.g.findTensor("next(net/weight)").value()).producer);
  CHECK(update.inputs[1] == sum.id);
  CHECK(std::get<std::int64_t>(update.attributes.at("every")) == 2);
}

TEST_CASE("Training breaks off between two updates and goes on with the same bits") {
  PlainRun run;
  const auto loader = makeArrayLoader(data(DType::Float32), {.batch = 2}).orThrow();
  const Optimizer optimizer = accumulating(Adam{.lr = 0.1}, 3);
  Model whole(2, DType::Float32), before(2, DType::Float32), after(2, DType::Float32);
  Trainer one(run, whole.g, whole.loss, optimizer), first(run, before.g, before.loss, optimizer),
      second(run, after.g, after.loss, optimizer);
  for (int i = 0; i < 9; ++i) one.step(loader->batch(Iteration{i}, Rank{0}, 1));
  for (int i = 0; i < 4; ++i) first.step(loader->batch(Iteration{i}, Rank{0}, 1));
  second.restore(first.state());
  for (int i = 4; i < 9; ++i) second.step(loader->batch(Iteration{i}, Rank{0}, 1));
  CHECK(hashTensor(one.executor().value(whole.weight.id())) ==
        hashTensor(second.executor().value(after.weight.id())));
}

TEST_CASE("Accumulation gives the same bits whatever is observed, and on one thread or two") {
  const auto train = [](Observer* watching, int threads) {
    PlainRun run;
    run.watching = watching;
    run.threadCount = threads;
    Model model(2, DType::Float32);
    const auto loader = makeArrayLoader(data(DType::Float32), {.batch = 2}).orThrow();
    Trainer trainer(run, model.g, model.loss,
                    accumulating(Sgd{.lr = 0.1, .momentum = 0.9, .weightDecay = 0.1}, 3));
    for (int i = 0; i < 8; ++i) trainer.step(loader->batch(Iteration{i}, Rank{0}, 1));
    return hashTensor(trainer.executor().value(model.weight.id()));
  };
  Curious curious;
  const Hash128 plain = train(nullptr, 1);
  CHECK(train(&curious, 1) == plain);
  CHECK(train(nullptr, 2) == plain);
  CHECK(curious.seen > 0);
}

TEST_CASE("No accumulation is the graph of before, and an impossible one is refused") {
  PlainRun run;
  Model model(2);
  const Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.1});
  CHECK_FALSE(model.g.findTensor("optimizer/micro_step"));
  Model other(2);
  CHECK_THROWS_WITH(Trainer(run, other.g, other.loss, accumulating(Sgd{}, 0)), Contains("accumulate is 0"));
}
