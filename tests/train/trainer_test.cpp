#include "core_engine/train/trainer.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "core_engine/models/model.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/layers.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;
using msdbg::test::PlainRun;

namespace {

// One linear layer with 3 inputs and 2 classes, 4 rows.
struct Small {
  Graph g;
  Value x, label, logits, loss;

  explicit Small(DType dtype = DType::Float32)
      : g("small", dtype),
        x(g.input("x", {4, 3})),
        label(g.input("label", {4}, DType::Int64)),
        logits(linear(x, {.out = 2})),
        loss(softmaxCrossEntropy(logits, label)) {}
};

const std::vector<float> kRows = {1, 0, 2, -1, 1, 0, 0.5f, 0.5f, 0.5f, 0, -2, 1};
const std::vector<std::int64_t> kLabels = {0, 1, 1, 0};

Batch smallBatch() {
  return {Iteration{0},
          {{"x", Tensor::of<float>({4, 3}, kRows)}, {"label", Tensor::of<std::int64_t>({4}, kLabels)}}};
}

struct SoftmaxRegression {  // the same in plain double arithmetic, from the textbook
  std::array<std::array<double, 3>, 2> weight{}, weightGradient{};
  std::array<double, 2> bias{}, biasGradient{};
  double loss = 0, accuracy = 0;

  void forwardBackward() {
    for (std::size_t n = 0; n < 4; ++n) {
      std::array<double, 2> z = bias;
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t k = 0; k < 3; ++k) z[c] += weight[c][k] * double{kRows[n * 3 + k]};
      const std::size_t truth = static_cast<std::size_t>(kLabels[n]);
      const double sum = std::exp(z[0]) + std::exp(z[1]);
      loss += (std::log(sum) - z[truth]) / 4;
      accuracy += (z[truth] > z[1 - truth]) / 4.0;
      for (std::size_t c = 0; c < 2; ++c) {
        const double error = (std::exp(z[c]) / sum - (c == truth)) / 4;
        biasGradient[c] += error;
        for (std::size_t k = 0; k < 3; ++k) weightGradient[c][k] += error * double{kRows[n * 3 + k]};
      }
    }
  }
};

template <typename F>
std::string messageOf(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

struct Notes : Observer {
  std::vector<std::string> calls;
  Scalars scalars;
  std::string code;  // of the innermost line of the last Gemm: in layers.cpp, which the library carries
  void graphReady(const Graph& graph) override {
    calls.push_back("graph");
    for (const Node& node : graph.nodes())
      if (node.opType == "Gemm") code = graph.frame(node.frames.front()).code;
  }
  void iterationStarted(Iteration i) override { calls.push_back("start " + std::to_string(i.value)); }
  void tensorReady(const TensorReady&) override {}
  void iterationFinished(Iteration i, const Scalars& s) override {
    calls.push_back("end " + std::to_string(i.value));
    scalars = s;
  }
  double scalar(const std::string& name) const {
    for (const auto& [key, value] : scalars)
      if (key == name) return value;
    return -1;
  }
};

}  // namespace

TEST_CASE("a step gives the loss, the accuracy and the parameters of softmax regression by hand") {
  const DType dtype = GENERATE(DType::Float32, DType::Float64);
  Small model(dtype);
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.5});
  const TensorId weight = *model.g.findTensor("small/weight"), bias = *model.g.findTensor("small/bias");
  SoftmaxRegression byHand;
  for (std::int64_t i = 0; i < 6; ++i)
    byHand.weight[static_cast<std::size_t>(i / 3)][static_cast<std::size_t>(i % 3)] =
        trainer.executor().value(weight).at(i);
  byHand.forwardBackward();
  const StepResult result = trainer.step(smallBatch());
  CHECK(result.loss == Approx(byHand.loss).epsilon(1e-6));
  CHECK(result.accuracy == byHand.accuracy);
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(trainer.executor().value(bias).at(static_cast<std::int64_t>(c)) ==
          Approx(-0.5 * byHand.biasGradient[c]).epsilon(1e-5));
    for (std::size_t k = 0; k < 3; ++k)
      CHECK(trainer.executor().value(weight).at(static_cast<std::int64_t>(c * 3 + k)) ==
            Approx(byHand.weight[c][k] - 0.5 * byHand.weightGradient[c][k]).epsilon(1e-5));
  }
  CHECK(trainer.iteration() == Iteration{1});
}

TEST_CASE("the observer is told the graph, every iteration and its scalars") {
  Small model;
  Notes notes;
  PlainRun run;
  run.watching = &notes;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.25});
  trainer.step(smallBatch());
  const StepResult last = trainer.step(smallBatch());
  CHECK(notes.calls == std::vector<std::string>{"graph", "start 0", "end 0", "start 1", "end 1"});
  CHECK(notes.scalar("loss") == last.loss);
  CHECK(notes.scalar("accuracy") == last.accuracy);
  CHECK(notes.scalar("learning_rate") == 0.25);
  CHECK(notes.scalar("step_time") > 0);
  CHECK_THAT(notes.code, Contains("applyOp1(\"Gemm\""));
}

TEST_CASE("a planted learning rate fault is seen in its iteration only") {
  Small model;
  Notes notes;
  PlainRun run;
  run.watching = &notes;
  auto fault = parseFault("lr@iteration=1,scale=8");
  REQUIRE(fault.ok());
  run.planted.push_back(*fault);
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.25});
  std::vector<double> rates;
  for (int i = 0; i < 3; ++i) {
    trainer.step(smallBatch());
    rates.push_back(notes.scalar("learning_rate"));
  }
  CHECK(rates == std::vector<double>{0.25, 2, 0.25});
}

TEST_CASE("a batch that does not fit ends the step with what and where") {
  Small model;
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, {});
  Batch renamed = smallBatch(), reshaped = smallBatch(), missing = smallBatch();
  renamed.tensors[0].first = "image";
  reshaped.tensors[0].second = Tensor::zeros(DType::Float32, {2, 3});
  missing.tensors.pop_back();
  CHECK_THAT(messageOf([&] { trainer.step(renamed); }),
             Contains("iteration 0") && Contains("'image'") && Contains("small/x"));
  CHECK_THAT(messageOf([&] { trainer.step(reshaped); }),
             Contains("small/x") && Contains("[4, 3]") && Contains("[2, 3]"));
  CHECK_THAT(messageOf([&] { trainer.step(missing); }), Contains("small/label"));
  CHECK(trainer.iteration() == Iteration{0});
  CHECK(std::isfinite(trainer.step(smallBatch()).loss));
}

TEST_CASE("a loss that is not a scalar cannot be trained") {
  Small model;
  PlainRun run;
  CHECK_THAT(messageOf([&] { Trainer(run, model.g, model.logits, {}); }),
             Contains("small") && Contains("[4, 2]"));
}

TEST_CASE("without labels there is no accuracy") {
  Graph g;
  const Value x = g.input("x", {2, 3});
  const Value y = linear(x, {.out = 1});
  const Value loss = reduceMean(y * y, {}, false);
  PlainRun run;
  Trainer trainer(run, g, loss, {});
  const StepResult result = trainer.step({Iteration{0}, {{"x", Tensor::zeros(DType::Float32, {2, 3})}}});
  CHECK(std::isnan(result.accuracy));
  CHECK(result.loss == 0);
}

TEST_CASE("evaluation counts the rows asked for and changes nothing") {
  Graph g;
  const Value x = g.input("x", {10, 1, 8, 8}), label = g.input("label", {10}, DType::Int64);
  const Value loss = softmaxCrossEntropy(linear(flatten(x), {.out = 10}), label);
  PlainRun run;
  Trainer trainer(run, g, loss, {});
  const auto data =
      std::move(makeLoader("digits", {.image = {1, 8, 8}, .batch = 10, .shuffle = false})).value();
  const TensorId weight = *g.findTensor("network/weight");
  const Tensor before = trainer.executor().value(weight).clone();
  double steps = 0;  // accuracy of each batch, as the forward pass of a step with the same parameters sees it
  for (int i = 0; i < 3; ++i) {
    const Batch batch = data->batch(Iteration{i}, Rank{0}, 1);
    steps += 10 * trainer.step(batch).accuracy;
    REQUIRE(trainer.executor().setValue(weight, before).ok());
    REQUIRE(
        trainer.executor().setValue(*g.findTensor("network/bias"), Tensor::zeros(DType::Float32, {10})).ok());
  }
  CHECK(trainer.evaluateAccuracy(*data, 30) == Approx(steps / 30));
  CHECK(trainer.evaluateAccuracy(*data, 25) * 25 ==
        Approx(std::round(trainer.evaluateAccuracy(*data, 25) * 25)));
  CHECK(std::ranges::equal(trainer.executor().value(weight).byteSpan(), before.byteSpan()));
  CHECK(trainer.iteration() == Iteration{3});
}

TEST_CASE("a fresh trainer restored to a state goes on with the same bits") {
  const std::unique_ptr<DataLoader> loader = makeLoader("digits", {.batch = 16, .seed = 4}).orThrow();
  const auto train = [&](Trainer& trainer, std::int64_t until) {
    std::vector<double> losses;
    while (trainer.iteration().value < until)
      losses.push_back(trainer.step(loader->batch(trainer.iteration(), Rank(0), 1)).loss);
    return losses;
  };
  const ModelInfo& model = *findModel("lenet5");
  PlainRun run;
  Graph g("network"), other("network");
  Trainer first(run, g, model.build(g, {.batch = 16}), model.optimizer);
  train(first, 3);
  first.setLearningRate(0.003);  // as ReduceLROnPlateau does
  const TrainingState state = first.state();
  CHECK(state.iteration == Iteration{3});
  const std::vector<double> losses = train(first, 6);
  run.seedValue = 99;  // other initial values
  Trainer second(run, other, model.build(other, {.batch = 16}), model.optimizer);
  second.restore(state);
  CHECK(second.iteration() == Iteration{3});
  CHECK(second.learningRate() == 0.003);
  CHECK(train(second, 6) == losses);
  const TrainingState a = first.state(), b = second.state();
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].first == b.tensors[i].first);
    CHECK(hashTensor(a.tensors[i].second) == hashTensor(b.tensors[i].second));
  }
}

TEST_CASE("a state that is not the graph's is refused, and nothing is changed") {
  Small model;
  PlainRun run;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.5});
  trainer.step(smallBatch());
  const TrainingState good = trainer.state();
  const auto refused = [&](TrainingState state) { return messageOf([&] { trainer.restore(state); }); };
  TrainingState state = good;
  state.tensors.pop_back();
  CHECK_THAT(refused(state), Contains("has no " + good.tensors.back().first));
  state = good;
  state.tensors.emplace_back("small/other:0", Tensor::scalar(1.0f));
  CHECK_THAT(refused(state), Contains("small/other:0"));
  state = good;
  state.learningRate = std::nan("");
  CHECK_THAT(refused(state), Contains("learning rate of nan"));
  state = good;
  state.tensors[0].second = Tensor::zeros(DType::Float32, {1, 1});
  CHECK_THAT(refused(state), Contains(good.tensors[0].first) && Contains("[1, 1]"));
  CHECK(trainer.iteration() == Iteration{1});
  for (const auto& [name, tensor] : trainer.state().tensors)
    for (const auto& [known, before] : good.tensors)
      if (name == known) CHECK(hashTensor(tensor) == hashTensor(before));
}

TEST_CASE("the observer is told what inputs were made from, and a wrong source is refused") {
  struct Sources : Notes {
    std::size_t given = 0;
    void sourcesGiven(Iteration i, std::span<const GivenSource> sources) override {
      calls.push_back("sources " + std::to_string(i.value));
      given = sources.size();
    }
  };
  Small model;
  Sources notes;
  PlainRun run;
  run.watching = &notes;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.25});
  Batch batch = smallBatch();
  trainer.step(batch);
  batch.sources = {{"x", {*batch.find("x"), 1}}};
  trainer.step(batch);
  CHECK(notes.calls ==
        std::vector<std::string>{"graph", "start 0", "end 0", "sources 1", "start 1", "end 1"});
  CHECK(notes.given == 1);
  batch.sources = {{"x", {Tensor::zeros(DType::UInt8, {1}), 255}}};
  CHECK_THAT(messageOf([&] { trainer.step(batch); }),
             Contains("iteration 2") && Contains("'x'") && Contains("cannot become"));
}

TEST_CASE("a batch may give the learning rate") {
  Small model;
  Notes notes;
  PlainRun run;
  run.watching = &notes;
  Trainer trainer(run, model.g, model.loss, Sgd{.lr = 0.25});
  Batch batch = smallBatch();
  for (const TensorInfo& info : model.g.tensors())
    if (info.role == TensorRole::kHyperparameter)
      batch.tensors.emplace_back(info.name, Tensor::of<float>({}, std::vector<float>{0.125f}));
  REQUIRE(batch.tensors.size() == 3);
  trainer.step(batch);
  CHECK(notes.scalar("learning_rate") == 0.125);
  trainer.step(smallBatch());
  CHECK(notes.scalar("learning_rate") == 0.25);
}

TEST_CASE("nothing is built, and no other Trainer made, once a graph has its Trainer") {
  PlainRun run;
  Small small;
  const Trainer trainer(run, small.g, small.loss, Sgd{});
  const std::size_t tensors = small.g.tensors().size(), carried = trainer.state().tensors.size();
  const std::vector<std::function<void()>> late = {
      [&] { linear(small.x, {.out = 2}); }, [&] { relu(small.x); },
      [&] { small.g.input("late", {1}); },  [&] { small.g.parameter("late", {1}, Init::zeros()); },
      [&] { constant(small.g, 1); },
  };
  for (const auto& build : late)
    CHECK_THAT(messageOf(build), Contains("graph small has its Trainer already") &&
                                     Contains("build everything before") && Contains("trainer_test.cpp:"));
  CHECK(small.g.tensors().size() == tensors);
  CHECK(trainer.state().tensors.size() == carried);
  const std::string second = messageOf([&] { Trainer(run, small.g, small.loss, Adam{}); });
  CHECK_THAT(second,
             Contains("small") && Contains("has its Trainer already") && Contains("build a graph anew"));
}

TEST_CASE("a learning rate that is none is refused, and the old one stays") {
  PlainRun run;
  Small small;
  Trainer trainer(run, small.g, small.loss, Sgd{.lr = 0.5});
  for (const double rate : {double{NAN}, -0.1, double{INFINITY}})
    CHECK_THAT(messageOf([&] { trainer.setLearningRate(rate); }),
               Contains("small: setLearningRate") && Contains("a finite number of at least 0"));
  CHECK(trainer.learningRate() == 0.5);
  trainer.setLearningRate(0);
  CHECK(trainer.learningRate() == 0);
}

TEST_CASE("a schedule that grows beyond every number ends the step") {
  PlainRun run;
  Small small;
  Optimizer optimizer = Sgd{.lr = 1};
  optimizer.schedule = stepSchedule(1, 1e200);
  Trainer trainer(run, small.g, small.loss, optimizer);
  const auto train = [&] {
    for (int i = 0; i < 3; ++i) trainer.step(smallBatch());
  };
  CHECK_THAT(messageOf(train), Contains("iteration 1") && Contains("learning rate inf"));
}

TEST_CASE("a tensor given twice in a batch is refused by name") {
  PlainRun run;
  Small small;
  Trainer trainer(run, small.g, small.loss, Sgd{});
  for (const char* again : {"x", "small/x"}) {
    Batch twice = smallBatch();
    twice.tensors.emplace_back(again, twice.tensors[0].second);
    CHECK_THAT(messageOf([&] { trainer.step(twice); }), Contains("gives small/x twice"));
  }
}

TEST_CASE("what no memory holds is refused by its name, line and bytes") {
  PlainRun run;
  const std::int64_t side = std::int64_t{1} << 23;
  Graph wide("wide");
  const Value x = wide.input("x", {1, side}), weight = wide.parameter("w", {side, side}, Init::zeros());
  const int line = __LINE__ - 1;
  matmul(x, weight);
  const auto executor = Executor::create(wide, {});
  REQUIRE_FALSE(executor.ok());
  CHECK_THAT(executor.error().message(), Contains("wide/w:0 (") && Contains("281 TB") &&
                                             Contains("trainer_test.cpp:" + std::to_string(line)));

  Graph tall("tall");
  const Value a = tall.parameter("a", {side, 1}, Init::zeros()), b = tall.input("b", {1, side});
  const Value product = matmul(a, b);
  const int made = __LINE__ - 1;
  const Value scalar = reduceSum(product, {}, false);
  const std::string activation = messageOf([&] { Trainer(run, tall, scalar, Sgd{}); });
  CHECK_THAT(activation, Contains("no memory for") && Contains("trainer_test.cpp:" + std::to_string(made)) &&
                             Contains("281 TB"));
}

TEST_CASE("the learning rate has the Trainer's line, and so has what is wrong with the optimizer") {
  PlainRun run;
  Small small;
  const int line = __LINE__ + 1;
  Trainer trainer(run, small.g, small.loss, Sgd{.lr = 0.1});
  const TensorInfo& rate = small.g.tensor(*small.g.findTensor("optimizer/learning_rate"));
  const Frame* frame = small.g.userFrame(rate.frames);
  REQUIRE(frame);
  CHECK(frame->file == "tests/train/trainer_test.cpp");
  CHECK(frame->line == line);

  Small nobodys;
  Trainer quiet(run, nobodys.g, nobodys.loss, Sgd{.lr = 0.1}, {});
  CHECK(nobodys.g.tensor(*nobodys.g.findTensor("optimizer/learning_rate")).frames.empty());
}

TEST_CASE("a graph that cannot be trained stays as it was, and can be trained by another Trainer") {
  PlainRun run;
  Small small;
  const std::size_t tensors = small.g.tensors().size();
  const int line = __LINE__ + 1;
  CHECK_THROWS_WITH(
      Trainer(run, small.g, small.loss, Sgd{.lr = -1}),
      Contains("lr is -1") && Contains("(tests/train/trainer_test.cpp:" + std::to_string(line)));
  Optimizer mistyped = Sgd{.lr = 0.1};
  mistyped.groups = {{.match = "fc9/*"}};
  CHECK_THROWS_WITH(Trainer(run, small.g, small.loss, mistyped), Contains("fc9/*"));
  CHECK(small.g.tensors().size() == tensors);
  Trainer trainer(run, small.g, small.loss, Sgd{.lr = 0.1});
  CHECK(std::isfinite(trainer.step(smallBatch()).loss));
}
