// Programs with one mistake or planted fault each, recorded: from the loss back to the element that made it
// so.
#include "replay/explain/explain.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "core_engine/train/mutable_input.h"
#include "core_engine/train/trainer.h"
#include "replay/explain/explain_text.h"
#include "replay/recompute/hindsight.h"
#include "tests/replay/fake_run.h"
#include "tests/replay/recorded_program.h"

using namespace msdbg;
using namespace msdbg::core;
using namespace msdbg::test;
using replay::CauseKind;
using replay::ExplainedStep;
using replay::ExplainOptions;
using replay::Explanation;

namespace {

constexpr std::int64_t kRows = 6, kWide = 4;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

/// Between 0.2 and 1.2; row and column that a mistake is in have another value.
Tensor batch(double wrong, int iteration) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < kRows * kWide; ++i)
    values.push_back(0.7F + 0.5F * std::sin(0.37F * static_cast<float>(i) + static_cast<float>(iteration)));
  values[3 * kWide + 1] = static_cast<float>(wrong);
  return floats({kRows, kWide}, values);
}

/// A program whose x[3, 1] is `wrong` in iteration 2.
RecordedProgram program(Value (*loss)(Value x), double wrong) {
  RecordedProgram p;
  p.loss = [loss](Graph& g) { return loss(g.input("x", {kRows, kWide})); };
  p.batch = [wrong](int i) { return Inputs{{"x", batch(i == 2 ? wrong : 0.5, i)}}; };
  p.values = true;
  return p;
}

Value scaled(Value x) {
  return x * parameter(x.graph(), "w", {kWide}, DType::Float32, Init::constant(1),
                       std::source_location::current());
}

Explanation explained(replay::Run& run, TensorId tensor, const ExplainOptions& options = {},
                      std::optional<Iteration> iteration = {}, std::optional<std::int64_t> element = {}) {
  const replay::Beginning from =
      replay::beginningOf(run, tensor, Rank(0), iteration, element, options).orThrow();
  return replay::explain(run, from, options).orThrow();
}
Explanation whyLoss(RecordedRun& recorded, const ExplainOptions& options = {}) {
  return explained(recorded.run(), replay::lossOf(recorded.run().graph()).orThrow(), options);
}

ExplainOptions computing(replay::ValueSource* source) {
  ExplainOptions options;
  options.computed = source;
  return options;
}
ExplainOptions limited(std::size_t terms, std::size_t depth) {
  ExplainOptions options;
  options.terms = terms;
  options.depth = depth;
  return options;
}

std::string text(RecordedRun& recorded, const Explanation& found) {
  const Graph& graph = recorded.run().graph();
  std::string all;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    all += replay::stepHead(graph, found.steps[i]) + "\n";
    for (const std::string& line : replay::stepLines(graph, found, i)) all += "    " + line + "\n";
  }
  for (const std::string& line : replay::causeLines(graph, found)) all += line + "\n";
  return all;
}

std::string nameOf(RecordedRun& recorded, const ExplainedStep& step) {
  return recorded.run().graph().tensor(step.tensor).name;
}
std::string opOf(RecordedRun& recorded, const ExplainedStep& step) {
  return step.node.valid() ? recorded.run().graph().node(step.node).opType : "";
}

/// The way from the loss ends at x[3, 1] of iteration 2, and `op` made it other than finite.
void requireSample(RecordedRun& recorded, const std::string& op) {
  const Explanation found = whyLoss(recorded);
  INFO(text(recorded, found));
  REQUIRE_FALSE(found.steps.empty());
  CHECK(found.steps.front().iteration == Iteration(2));
  REQUIRE(found.made);
  CHECK(opOf(recorded, found.steps[*found.made]) == op);
  CHECK(found.cause == CauseKind::kSample);
  CHECK(found.sample == 3);
  CHECK(nameOf(recorded, found.steps.back()) == "network/x");
  CHECK(found.steps.back().element == 3 * kWide + 1);
}

}  // namespace

TEST_CASE("The logarithm of a negative number is followed to the sample that it comes from") {
  RecordedRun recorded(program([](Value x) { return reduceMean(log(scaled(x)), {}, false); }, -0.25));
  requireSample(recorded, "Log");
  const Explanation found = whyLoss(recorded);
  const auto lines = replay::causeLines(recorded.run().graph(), found);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::Contains("Log-op1") && Catch::Contains("made nan of") &&
                           Catch::Contains("Mul-op1[3, 1] (-0.2") && Catch::Contains("explain_test.cpp:"));
  CHECK_THAT(lines[1], Catch::Contains("x[3, 1] = -0.25") && Catch::Contains("sample 3 of the batch"));
  CHECK(found.steps[0].terms.count == kRows * kWide);
  CHECK(found.steps[0].terms.notFinite == 1);
}

TEST_CASE("A division by zero is followed to the divisor") {
  RecordedRun recorded(program(
      [](Value x) {
        const Value one = constant(x.graph(), 1, {kRows, kWide});
        return reduceMean(one / scaled(x), {}, false);
      },
      0));
  requireSample(recorded, "Div");
}

TEST_CASE("An exponential that overflows is followed to its argument") {
  RecordedRun recorded(program([](Value x) { return reduceSum(exp(scaled(x)), {}, false); }, 120));
  requireSample(recorded, "Exp");
}

TEST_CASE("A huge sample whose square overflows is followed past copies and reshapes") {
  RecordedRun recorded(program(
      [](Value x) {
        const Value y = transpose(reshape(scaled(x), {kWide, kRows}));
        return reduceMean(concat({slice(y, 0, 0, 2), slice(y, 0, 2, kRows)}, 0) * y, {}, false);
      },
      1e30));
  requireSample(recorded, "Mul");
}

TEST_CASE("The gradient of a root of zero is followed to where it was made") {
  RecordedRun recorded(program([](Value x) { return reduceMean(sqrt(scaled(x)), {}, false); }, 0));
  const TensorId gradient = *recorded.run().graph().findTensor("grad(network/w)");
  const Explanation found = explained(recorded.run(), gradient);
  INFO(text(recorded, found));
  CHECK(found.steps.front().iteration == Iteration(2));
  REQUIRE(found.made);
  CHECK(opOf(recorded, found.steps[*found.made]) == "Div");
  CHECK(nameOf(recorded, found.steps.back()) == "network/x");
}

TEST_CASE("What was planted into a node is not what the node makes of its inputs") {
  RecordedProgram p = program([](Value x) { return reduceMean(sqrt(exp(scaled(x))), {}, false); }, 0.5);
  p.faults = {GENERATE("nan@iteration=3,node=*Exp*,element=5", "inf@iteration=3,node=*Exp*,element=5")};
  SECTION("values are stored") {
    RecordedRun recorded(p);
    const Explanation found = whyLoss(recorded);
    INFO(text(recorded, found));
    CHECK(found.cause == CauseKind::kNotReproduced);
    CHECK(opOf(recorded, found.steps.back()) == "Exp");
    CHECK(found.steps.back().element == 5);
    CHECK(found.steps.front().iteration == Iteration(3));
    CHECK_FALSE(found.made);
  }
  SECTION("values are computed again") {
    p.values = false;
    p.options.checkpointEvery = 2;
    p.options.batches = true;
    RecordedRun recorded(p);
    const auto hindsight = replay::Hindsight::create(recorded.run(), {}).orThrow();
    const Explanation found = whyLoss(recorded, computing(hindsight.get()));
    INFO(text(recorded, found));
    CHECK(found.cause == CauseKind::kNotReproduced);
    CHECK(opOf(recorded, found.steps.back()) == "Exp");
  }
}

TEST_CASE("A learning rate that is too large is found behind parameters, updates and iterations") {
  RecordedProgram p;
  p.loss = [](Graph& g) {
    const Value label = g.input("label", {kRows}, DType::Int64), x = g.input("x", {kRows, kWide});
    const Value y = linear(relu(linear(x, {.out = 8})), {.out = 3});
    return softmaxCrossEntropy(y, label);
  };
  p.batch = [](int i) {
    return Inputs{{"label", Tensor::of<std::int64_t>({kRows}, std::vector<std::int64_t>{0, 1, 2, 0, 1, 2})},
                  {"x", batch(0.5, i)}};
  };
  p.iterations = 8;
  p.faults = {"lr@iteration=3,scale=1e22"};
  p.values = GENERATE(true, false);
  if (!p.values) p.options.policy = dump::Policy::kRecord;  // no statistics either: all is computed again
  p.options.checkpointEvery = 2;
  p.options.batches = true;
  RecordedRun recorded(p);
  const auto hindsight = replay::Hindsight::create(recorded.run(), {}).orThrow();
  const Explanation found = whyLoss(recorded, computing(hindsight.get()));
  INFO(text(recorded, found));
  CHECK(found.cause == CauseKind::kHyperparameter);
  CHECK(found.steps.back().iteration == Iteration(3));
  if (p.values) CHECK_THAT(found.steps.back().unusual, Catch::Contains("usually 0.01"));
  CHECK(found.steps.front().iteration > Iteration(3));
}

TEST_CASE("A rate that jumps is found though no value is far beyond what is usual") {
  RecordedProgram p;
  p.loss = [](Graph& g) {
    const Value label = g.input("label", {kRows}, DType::Int64), x = g.input("x", {kRows, kWide});
    return softmaxCrossEntropy(linear(relu(linear(x, {.out = 8})), {.out = 3}), label);
  };
  p.batch = [](int i) {
    return Inputs{{"label", Tensor::of<std::int64_t>({kRows}, std::vector<std::int64_t>{0, 1, 2, 0, 1, 2})},
                  {"x", batch(0.5, i)}};
  };
  p.iterations = 12;
  p.before = [](Trainer& trainer, int i) { trainer.setLearningRate(i < 9 ? 0.01 : 20); };
  p.values = true;
  RecordedRun recorded(p);
  const TensorId loss = replay::lossOf(recorded.run().graph()).orThrow();
  const Explanation found = explained(recorded.run(), loss, {}, Iteration(10));
  INFO(text(recorded, found));
  CHECK(found.cause == CauseKind::kHyperparameter);
  CHECK(found.steps.back().iteration == Iteration(9));
  CHECK(found.steps.back().value == 20);
  CHECK_THAT(found.steps.back().unusual, Catch::Contains("usually 0.01"));
}

TEST_CASE("A sum of zeros is followed to the sample that is 0, and 0/0 into the divisor") {
  RecordedProgram p;
  p.loss = [](Graph& g) {
    const Value x = g.input("x", {kRows, kWide}), y = g.input("y", {kRows, kWide});
    const Value squares = reduceSum(scaled(x) * x, {1}, true) + 0.0;
    return reduceMean(reduceSum(x * y, {1}, true) / squares, {}, false);
  };
  p.batch = [](int i) {
    Tensor x = batch(0.5, i);
    if (i == 2)
      for (std::size_t k = 0; k < kWide; ++k) x.data<float>()[3 * kWide + k] = 0;
    return Inputs{{"x", x}, {"y", batch(0.7, i + 1)}};
  };
  p.values = true;
  RecordedRun recorded(p);
  const Explanation found = whyLoss(recorded);
  INFO(text(recorded, found));
  CHECK(found.cause == CauseKind::kSample);
  CHECK(found.sample == 3);
  CHECK(nameOf(recorded, found.steps.back()) == "network/x");
  CHECK(std::ranges::any_of(found.steps, [&](const ExplainedStep& s) { return opOf(recorded, s) == "Add"; }));
}

TEST_CASE("A parameter that is as usual ends at the terms of its last update, which make it up") {
  RecordedRun recorded(program([](Value x) { return reduceMean(exp(scaled(x)), {}, false); }, 0.5));
  const TensorId w = *recorded.run().graph().findTensor("network/w:0");
  const Explanation found = explained(recorded.run(), w, {}, Iteration(3), 2);
  INFO(text(recorded, found));
  CHECK(found.cause == CauseKind::kUpdate);
  REQUIRE(found.steps.size() == 2);
  CHECK(found.steps[1].iteration == Iteration(2));
  CHECK(found.steps[1].terms.sum == Approx(*found.steps[0].value).epsilon(1e-6));
  CHECK(found.steps[1].terms.count == 2);
  const Explanation first = explained(recorded.run(), w, {}, Iteration(0), 2);
  CHECK(first.cause == CauseKind::kInitial);
}

TEST_CASE("A parameter that the program set has no update to go back to") {
  RecordedProgram p = program([](Value x) { return reduceMean(exp(scaled(x)), {}, false); }, 0.5);
  p.options.checkpointEvery = 2;
  p.before = [](Trainer& trainer, int i) {
    if (i != 3) return;
    TrainingState state = trainer.state();
    for (auto& [name, value] : state.tensors)
      if (name == "network/w:0") value = Tensor::zeros(value.dtype(), value.shape());
    trainer.restore(state);
  };
  RecordedRun recorded(p);
  const TensorId w = *recorded.run().graph().findTensor("network/w:0");
  const Explanation found = explained(recorded.run(), w, {}, Iteration(3), 2);
  INFO(text(recorded, found));
  CHECK(found.cause == CauseKind::kSetOutside);
  CHECK(found.steps.size() == 1);
}

TEST_CASE("A mask of infinities is not what a finite probability comes from") {
  RecordedRun recorded(program(
      [](Value x) {
        const Value hidden = constant(x.graph(), -INFINITY, {kRows, 1}),
                    seen = constant(x.graph(), 0, {kRows, kWide - 1});
        return reduceMean(softmax(scaled(x) + concat({seen, hidden}, 1)), {}, false);
      },
      0.5));
  const TensorId y = *recorded.run().graph().findTensor("network/Softmax-op1:0");
  const Explanation found = explained(recorded.run(), y, {}, Iteration(1), 5);
  INFO(text(recorded, found));
  CHECK(found.cause == CauseKind::kSample);
  CHECK(found.steps.back().element == 5);
}

TEST_CASE("Places are said in the shape of their iteration") {
  RecordedProgram p;
  p.loss = [](Graph& g) { return reduceMean(log(scaled(mutableInput(g, "x", {kRows, kWide}))), {}, false); };
  p.batch = [](int i) {
    const Tensor whole = batch(i == 2 ? -1 : 0.5, i);
    return Inputs{{"x", i == 2 ? whole.part(0, {kRows - 2, kWide}).clone() : whole}};
  };
  p.values = true;
  RecordedRun recorded(p);
  const Explanation found = whyLoss(recorded);
  INFO(text(recorded, found));
  CHECK(found.steps.back().shape == Shape{kRows - 2, kWide});
  CHECK(found.sample == 3);
}

TEST_CASE("Terms of products add up to what was recorded, and none is followed that has not more than half") {
  RecordedProgram p = program(
      [](Value x) {
        const Value y = linear(x, {.out = 5});
        return reduceMean(y * y, {}, false);
      },
      0.5);
  RecordedRun recorded(p);
  const TensorId y = *recorded.run().graph().findTensor("network/Gemm-op1:0");
  for (std::int64_t element = 0; element < kRows * 5; ++element) {
    const Explanation found = explained(recorded.run(), y, limited(2, 200), Iteration(1), element);
    INFO(text(recorded, found));
    const replay::ExplainedTerms& terms = found.steps[0].terms;
    CHECK(terms.count == kWide + 1);
    CHECK(std::abs(terms.sum - *found.steps[0].value) <= 4 * 1.2e-7 * terms.magnitude);
    REQUIRE(terms.largest.size() == 2);
    CHECK(std::abs(terms.largest[0].contribution) >= std::abs(terms.largest[1].contribution));
    if (terms.largest[0].share <= 0.5) CHECK(found.cause == CauseKind::kSpread);
    if (terms.largest[0].share > 0.5) CHECK(found.steps.size() > 1);
  }
}

TEST_CASE("The way is as long as asked, can be cancelled, and says what it does not know") {
  RecordedProgram p = program([](Value x) { return reduceMean(log(scaled(x)), {}, false); }, -0.25);
  SECTION("as long as asked") {
    RecordedRun recorded(p);
    const Explanation found = whyLoss(recorded, limited(3, 2));
    CHECK(found.cause == CauseKind::kDepth);
    CHECK(found.steps.size() == 2);
  }
  SECTION("cancelled") {
    RecordedRun recorded(p);
    ExplainOptions options;
    options.progress = [&](std::int64_t steps) {
      if (steps == 1) options.cancel.cancel();
    };
    const TensorId loss = replay::lossOf(recorded.run().graph()).orThrow();
    const auto from = replay::beginningOf(recorded.run(), loss, Rank(0), {}, {}, options).orThrow();
    const auto found = replay::explain(recorded.run(), from, options);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code() == ErrorCode::kCancelled);
  }
  SECTION("only statistics") {
    p.values = false;
    p.options.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
    RecordedRun recorded(p);
    const Explanation found = whyLoss(recorded);
    INFO(text(recorded, found));
    CHECK(found.cause == CauseKind::kUnknown);
    REQUIRE(found.steps.size() >= 2);
    CHECK_THAT(found.steps[0].reason, Catch::Contains("NaN"));
  }
}

TEST_CASE("A loss that was wrong already while it was recorded as another tensor is not called the first") {
  const auto lossOf = [](const std::string& type, const std::string& domain) {
    Graph graph("net");
    TensorInfo x, loss;
    x.name = "x";
    x.shape = {2};
    x.role = TensorRole::kInput;
    loss.role = TensorRole::kLoss;
    const TensorId input = graph.addSource(x);
    graph.addNode(type, "net", Phase::kForward, {input}, {}, {loss}, {}, {}, domain);
    return graph;
  };
  // From iteration 2 on its operators are recorded.
  test::FakeRun run(lossOf("torch.forward", "torch"), 1, 4);
  run.rows.setGraph(Rank(0), Iteration(0), lossOf("torch.forward", "torch"));
  run.rows.setGraph(Rank(0), Iteration(2), lossOf("mean", "aten"));
  for (int i = 0; i < 4; ++i) run.scalars["loss"][{Rank(0), Iteration(i)}] = i == 0 ? 1.0 : std::nan("");
  for (int i = 0; i < 4; ++i)
    run.rows.record(Rank(0), Iteration(i), run.rows.id("x"), floats(Shape{2}, std::vector<float>{1, 2}));
  const TensorId loss = replay::lossOf(run.graph()).orThrow();
  run.rows.record(Rank(0), Iteration(2), loss, floats(Shape{}, std::vector<float>{std::nanf("")}));
  const auto from = replay::beginningOf(run, loss, Rank(0), {}, {}, {}).orThrow();
  CHECK(from.iteration == Iteration(2));
  CHECK_THAT(from.iterationChosen, Catch::Contains("the loss is not finite from iteration 1 on"));
}
