#include "core_engine/train/fit.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "core_engine/distributed/communicators.h"
#include "core_engine/models/model.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/early_stopping.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/reduce_lr_on_plateau.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;

namespace {

/// A built-in model in training, with held-out data of its own.
struct Training {
  const ModelInfo& info;
  Graph graph{"network"};
  std::unique_ptr<DataLoader> loader, heldOut;
  std::unique_ptr<Trainer> trainer;

  Training(RunContext& run, const std::string& model, std::int64_t batch, double dropout = 0)
      : info(*findModel(model)) {
    LoaderOptions data{.image = info.image, .sequence = info.size.context, .batch = batch, .seed = 5};
    const std::string spec = info.readsText() ? "words" : "digits";
    loader = makeLoader(spec, data).orThrow();
    data.firstSample = info.readsText() ? 0 : 100000;
    data.samples = 4 * batch * run.ranks();
    data.shuffle = false;
    heldOut = makeLoader(spec, data).orThrow();
    const Value loss = info.build(graph, {.batch = batch, .dropout = dropout});
    trainer = std::make_unique<Trainer>(run, graph, loss, info.optimizer);
  }
};

std::vector<std::string> hashes(const Trainer& trainer) {
  std::vector<std::string> texts;
  for (const auto& [name, tensor] : trainer.state().tensors)
    texts.push_back(name + " " + hashTensor(tensor).text());
  return texts;
}

double metric(const Round& round, const std::string& name) {
  for (const auto& [key, value] : round.metrics)
    if (key == name) return value;
  FAIL("no metric " + name);
  return 0;
}

struct Notes : Callback {
  std::vector<std::vector<std::string>> states;  // after every round
  Trainer* trainer = nullptr;
  int begun = 0, ended = 0;
  Status begin(TrainingControl&) override { return ++begun, Ok{}; }
  Status roundEnded(const Round&, TrainingControl&) override {
    return states.push_back(hashes(*trainer)), Ok{};
  }
  Status end(TrainingControl&) override { return ++ended, Ok{}; }
};

std::string messageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("An input that the loss does not read may be in the batches of an evaluation") {
  PlainRun run;
  Graph graph("network");
  const Value x = graph.input("x", {4, 1, 8, 8});
  graph.input("label", {4}, DType::Int64);  // the loader gives it
  const Value error = linear(flatten(x), {.out = 64}) - flatten(x);
  Trainer trainer(run, graph, reduceMean(error * error, {}, false), Sgd{.lr = 0.01});
  const auto loader = makeLoader("digits", {.image = {1, 8, 8}, .batch = 4}).orThrow();
  const FitResult result = trainer.fit(*loader, {.steps = 2, .heldOut = loader.get(), .heldOutBatches = 1});
  REQUIRE(result.rounds.size() == 1);
  CHECK(std::isfinite(metric(result.rounds.front(), "val_loss")));
}

TEST_CASE("fit trains as a loop of steps does, and its rounds hold the means") {
  PlainRun run;
  Training looped(run, "lenet5", 8), fitted(run, "lenet5", 8);
  std::vector<double> losses, accuracies;
  for (std::int64_t i = 0; i < 7; ++i) {
    const StepResult step = looped.trainer->step(looped.loader->batch(Iteration(i), Rank(0), 1));
    losses.push_back(step.loss);
    accuracies.push_back(step.accuracy);
  }
  const FitResult result = fitted.trainer->fit(*fitted.loader, {.steps = 7, .roundSteps = 3});
  CHECK(hashes(*fitted.trainer) == hashes(*looped.trainer));
  CHECK(result.stopped.empty());
  REQUIRE(result.rounds.size() == 3);
  const std::size_t firsts[] = {0, 3, 6, 7};
  for (std::size_t r = 0; r < 3; ++r) {
    const auto count = static_cast<double>(firsts[r + 1] - firsts[r]);
    double loss = 0, accuracy = 0;
    for (std::size_t i = firsts[r]; i < firsts[r + 1]; ++i) loss += losses[i], accuracy += accuracies[i];
    CHECK(result.rounds[r].number == static_cast<std::int64_t>(r));
    CHECK(result.rounds[r].last == Iteration(static_cast<std::int64_t>(firsts[r + 1]) - 1));
    CHECK(metric(result.rounds[r], "loss") == Approx(loss / count).epsilon(1e-14));
    CHECK(metric(result.rounds[r], "accuracy") == Approx(accuracy / count).epsilon(1e-14));
    CHECK(metric(result.rounds[r], "learning_rate") == Approx(0.01));
    CHECK(result.rounds[r].metrics.size() == 3);  // nothing held out
  }
}

TEST_CASE("The metrics of rounds and of the program are told beside the last step") {
  struct Told : Observer {
    std::vector<std::string> lines;
    void graphReady(const Graph&) override {}
    void iterationStarted(Iteration) override {}
    void tensorReady(const TensorReady&) override {}
    void iterationFinished(Iteration iteration, const Scalars&) override {
      lines.push_back("end " + std::to_string(iteration.value));
    }
    void metricsGiven(Iteration iteration, const Scalars& metrics) override {
      for (const auto& [name, value] : metrics)
        lines.push_back(name + " " + std::to_string(iteration.value) + " " + std::to_string(value));
    }
  } told;
  PlainRun run;
  run.watching = &told;
  Training t(run, "lenet5", 8);
  t.trainer->metric("val_loss", 1);  // there is no step yet
  CHECK(told.lines.empty());
  const FitResult result =
      t.trainer->fit(*t.loader, {.steps = 3, .roundSteps = 2, .heldOut = t.heldOut.get()});
  std::vector<std::string> expected;
  for (const Round& round : result.rounds) {
    const std::string last = std::to_string(round.last.value);
    if (round.number == 0) expected.push_back("end 0");
    expected.push_back("end " + last);
    for (const char* name : {"loss", "accuracy", "val_loss", "val_accuracy"})
      expected.push_back((std::string(name).starts_with("val") ? "" : "round_") + std::string(name) + " " +
                         last + " " + std::to_string(metric(round, name)));
  }
  CHECK(told.lines == expected);
  t.trainer->metric("mine", 0.5);
  CHECK(told.lines.back() == "mine 2 0.500000");
  for (const char* name : {"", "loss", "learning_rate", "step_time", "accuracy"})
    CHECK_THAT(messageOf([&] { t.trainer->metric(name, 1); }),
               Contains("metric: '" + std::string(name) + "'"));
}

TEST_CASE("epochs that are done count, --steps wins, and rounds are those of the whole training") {
  PlainRun run;
  Training t(run, "lenet5", 5);
  const auto small = makeLoader("digits", {.batch = 5, .samples = 20}).orThrow();  // 4 iterations an epoch
  Trainer& trainer = *t.trainer;
  CHECK(trainer.fit(*small, {.steps = 3}).rounds.size() == 1);
  const FitResult rest = trainer.fit(*small, {.epochs = 2});
  CHECK(trainer.iteration() == Iteration(8));
  REQUIRE(rest.rounds.size() == 2);
  CHECK(rest.rounds[0].last == Iteration(3));
  CHECK(trainer.fit(*small, {.epochs = 2}).rounds.empty());
  run.stepsWanted = 2;
  trainer.fit(*small, {.epochs = 2});
  CHECK(trainer.iteration() == Iteration(10));
}

TEST_CASE("evaluation does not change a bit of training, for the models with normalization and dropout too") {
  const auto [model, dropout] = GENERATE(std::pair("resnet20", 0.0), std::pair("alexnet", 0.5));
  PlainRun run;
  Training plain(run, model, 4, dropout), watched(run, model, 4, dropout);
  plain.trainer->fit(*plain.loader, {.steps = 4});
  const FitResult result = watched.trainer->fit(
      *watched.loader, {.steps = 4, .roundSteps = 1, .heldOut = watched.heldOut.get(), .heldOutBatches = 2});
  CHECK(hashes(*watched.trainer) == hashes(*plain.trainer));
  REQUIRE(result.rounds.size() == 4);
  CHECK(metric(result.rounds[0], "val_loss") != metric(result.rounds[3], "val_loss"));
  CHECK(std::isfinite(metric(result.rounds[3], "val_loss")));
}

TEST_CASE("without normalization and dropout a batch is evaluated to the bits of its training step") {
  const std::string model = GENERATE("lenet5", "gpt");
  PlainRun run;
  Training t(run, model, 1);
  for (int i = 0; i < 2; ++i) {
    const EvaluationResult seen = t.trainer->evaluate(*t.heldOut, 1);
    const StepResult step = t.trainer->step(t.heldOut->batch(Iteration(0), Rank(0), 1));
    CHECK(seen.loss == step.loss);
    CHECK(seen.accuracy == step.accuracy);
  }
}

namespace {

constexpr std::size_t kRows = 4, kFeatures = 3;

/// Rows drawn by hand; the same in every iteration.
struct FewRows : DataLoader {
  std::array<float, kRows* kFeatures> x = {1, 0, 2, -1, 1, 0, 0.5f, 0.25f, -0.5f, 0, -2, 1};
  std::array<std::int64_t, kRows> label = {0, 1, 1, 0};
  Batch batch(Iteration iteration, Rank, int) const override {
    return {iteration,
            {{"x", Tensor::of<float>({kRows, kFeatures}, x)},
             {"label", Tensor::of<std::int64_t>({kRows}, label)}}};
  }
  std::int64_t batchSize() const override { return kRows; }
  std::int64_t iterationsPerEpoch(int) const override { return 2; }
  std::string description() const override { return "four rows"; }
};

}  // namespace

TEST_CASE("a model is evaluated by the running values and without dropout, by the formula") {
  Graph g("small", DType::Float64);
  Value x = g.input("x", {kRows, kFeatures});
  const Value label = g.input("label", {kRows}, DType::Int64);
  x = dropout(batchNorm(x, {.epsilon = 1e-3}), 0.5);
  const Value loss = softmaxCrossEntropy(linear(x, {.out = 2}), label);
  PlainRun run;
  const FewRows rows;
  Trainer trainer(run, g, loss, Sgd{.lr = 0.5});
  trainer.fit(rows, {.steps = 3});
  const auto at = [&](const std::string& name, std::size_t i) {
    return trainer.executor().value(*g.findTensor("small/" + name)).at(static_cast<std::int64_t>(i));
  };
  double expected = 0, correct = 0;
  for (std::size_t n = 0; n < kRows; ++n) {
    double z[2] = {at("bias2", 0), at("bias2", 1)};
    for (std::size_t k = 0; k < kFeatures; ++k) {
      const double y = (double{rows.x[n * kFeatures + k]} - at("running_mean", k)) /
                           std::sqrt(at("running_var", k) + 1e-3) * at("scale", k) +
                       at("bias", k);
      for (std::size_t c = 0; c < 2; ++c) z[c] += at("weight", c * kFeatures + k) * y;
    }
    const std::size_t truth = static_cast<std::size_t>(rows.label[n]);
    expected += (std::log(std::exp(z[0]) + std::exp(z[1])) - z[truth]) / kRows;
    correct += z[truth] > z[1 - truth];
  }
  const EvaluationResult seen = trainer.evaluate(rows);
  CHECK(seen.loss == Approx(expected).epsilon(1e-12));
  CHECK(seen.accuracy == correct / kRows);
  CHECK(trainer.evaluateAccuracy(rows, 4) == correct / kRows);
}

TEST_CASE("EarlyStopping ends fit and puts back the values of the best round") {
  PlainRun run;
  Training t(run, "lenet5", 8);
  Notes notes;
  notes.trainer = t.trainer.get();
  // The loss falls, and more is taken for better: the first round is the best.
  EarlyStopping stopping({.monitor = "loss", .patience = 2, .mode = MonitorMode::kMax, .restoreBest = true});
  const FitResult result =
      t.trainer->fit(*t.loader, {.steps = 100, .roundSteps = 8, .callbacks = {&notes, &stopping}});
  CHECK(result.rounds.size() == 3);
  CHECK(t.trainer->iteration() == Iteration(24));
  CHECK_THAT(result.stopped, Contains("loss has not improved for 2 rounds") && Contains("in round 0"));
  CHECK(notes.begun == 1);
  CHECK(notes.ended == 1);
  const std::vector<std::string> now = hashes(*t.trainer);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool optimizers = now[i].starts_with("momentum(");  // stays
    CHECK(now[i] == notes.states[optimizers ? 2 : 0][i]);
    if (!now[i].starts_with("grad/")) CHECK(notes.states[0][i] != notes.states[2][i]);
  }
}

TEST_CASE("ReduceLROnPlateau lowers the rate that the next steps use, the schedule stays a factor") {
  PlainRun run;
  Graph g("network");
  const ModelInfo& lenet5 = *findModel("lenet5");
  Optimizer optimizer = Sgd{.lr = 0.5};
  optimizer.schedule = stepSchedule(6, 0.5);
  Trainer trainer(run, g, lenet5.build(g, {.batch = 4}), optimizer);
  const auto loader = makeLoader("digits", {.batch = 4}).orThrow();
  // Nothing is better than the first round by 1000.
  ReduceLROnPlateau reduce({.monitor = "loss", .factor = 0.25, .patience = 1, .minDelta = 1000});
  const FitResult result = trainer.fit(*loader, {.steps = 8, .roundSteps = 2, .callbacks = {&reduce}});
  std::vector<double> rates;
  for (const Round& round : result.rounds) rates.push_back(metric(round, "learning_rate"));
  CHECK(rates == std::vector<double>{0.5, 0.5, 0.125, 0.03125 * 0.5});
  CHECK(trainer.learningRate() == 0.0078125);
}

TEST_CASE("all ranks are told the same metrics and stop in the same round") {
  const auto trainRank = [](Communicator* communicator, std::int64_t batch) {
    PlainRun run(communicator);
    Training t(run, "lenet5", batch);
    EarlyStopping stopping({.monitor = "val_loss", .patience = 1, .mode = MonitorMode::kMax});
    FitResult result = t.trainer->fit(
        *t.loader, {.steps = 40, .roundSteps = 4, .heldOut = t.heldOut.get(), .callbacks = {&stopping}});
    return std::pair(std::move(result), t.trainer->iteration());
  };
  auto communicators = makeThreadCommunicators(2);
  std::array<std::pair<FitResult, Iteration>, 2> ranks;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] { ranks[i] = trainRank(communicators[i].get(), 8); });
  }
  const auto alone = trainRank(nullptr, 16);
  REQUIRE(ranks[0].first.rounds.size() == ranks[1].first.rounds.size());
  REQUIRE(ranks[0].first.rounds.size() == alone.first.rounds.size());
  CHECK(ranks[0].first.rounds.size() < 10);
  CHECK(ranks[0].second == ranks[1].second);
  CHECK(ranks[0].first.stopped == ranks[1].first.stopped);
  for (std::size_t i = 0; i < alone.first.rounds.size(); ++i) {
    CHECK(ranks[0].first.rounds[i].metrics == ranks[1].first.rounds[i].metrics);
    for (const auto& [name, value] : alone.first.rounds[i].metrics)
      CHECK(metric(ranks[0].first.rounds[i], name) == Approx(value).epsilon(1e-3));
  }
}

TEST_CASE("what fit cannot do ends with what and where") {
  PlainRun run;
  Training t(run, "lenet5", 4);
  EarlyStopping stopping({});
  CHECK_THAT(messageOf([&] { t.trainer->fit(*t.loader, {.steps = 2, .callbacks = {&stopping}}); }),
             Contains("network: fit: EarlyStopping: there is no metric 'val_loss'") &&
                 Contains("loss, accuracy, learning_rate") && Contains("held-out"));
  CHECK_THAT(messageOf([&] { t.trainer->fit(*t.loader, {.steps = -1}); }),
             Contains("fit: ") && Contains("steps"));
  CHECK_THAT(messageOf([&] { t.trainer->fit(*t.loader, {.callbacks = {nullptr}}); }), Contains("null"));
  const auto other = makeLoader("digits", {.batch = 3, .samples = 9}).orThrow();
  CHECK_THAT(messageOf([&] { t.trainer->evaluate(*other); }),
             Contains("evaluation: ") && Contains("[4, 1, 28, 28]") && Contains("[3, 1, 28, 28]"));
}

TEST_CASE("a loader without rows or iterations is refused, in training, evaluation and a shard") {
  struct Empty : DataLoader {
    std::int64_t rows = 4, iterations = 0;
    Batch batch(Iteration, Rank, int) const override { return {}; }
    std::int64_t batchSize() const override { return rows; }
    std::int64_t iterationsPerEpoch(int) const override { return iterations; }
    std::string description() const override { return "my rows"; }
  };
  PlainRun run;
  Training training(run, "lenet5", 4);
  Empty none;
  const std::vector<std::function<void()>> uses = {
      [&] { training.trainer->fit(none, {.epochs = 2}); },
      [&] { training.trainer->fit(none, {.steps = 2}); },
      [&] { training.trainer->evaluate(none); },
      [&] { run.shard(none); },
  };
  for (const auto& use : uses)
    CHECK_THAT(messageOf(use), Contains("my rows") && Contains("iterationsPerEpoch()"));
  none.rows = 0, none.iterations = 3;
  CHECK_THAT(messageOf([&] { training.trainer->fit(none, {}); }), Contains("batchSize()"));
}
