// Conditions that the graph alone answers, on small programs as people write them.
#include <catch2/catch.hpp>

#include "core_engine/train/layers.h"
#include "tests/watchpoints/traced_program.h"
#include "watchpoints/check.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using msdbg::test::Named;
using msdbg::test::Trace;
using msdbg::test::traceTraining;

namespace {

const std::vector<float> kX = {1, -2, 0.5f, 3, -1, 2, 0.25f, -0.5f, 1.5f, 2, -3, 1, 0.1f, 0.2f, -0.7f};
const std::vector<std::int64_t> kLabels = {0, 1, 1, 0, 1};

Named inputs(const std::string& scope = "network") {
  return {{scope + "/x", Tensor::of<float>({5, 3}, kX)},
          {scope + "/label", Tensor::of<std::int64_t>({5}, kLabels)}};
}

/// What the recommended set's condition says of a program of x [5, 3] and label [5].
std::vector<Hit> hitsOf(const char* condition, const std::function<Value(Value x, Value label)>& program,
                        const Optimizer& optimizer = Sgd{.lr = 0.01}) {
  const Trace trace = traceTraining(
      [&](Graph& g) {
        const Value x = g.input("x", {5, 3}), label = g.input("label", {5}, DType::Int64);
        return program(x, label);
      },
      inputs(), optimizer);
  auto watchpoint = parseWatchpoint(std::string(condition) + ":recommended");
  REQUIRE(watchpoint.ok());
  const CheckReport report = check(*trace.source, {*watchpoint}, {});
  std::vector<Hit> hits = report.hits;
  hits.insert(hits.end(), report.hints.begin(), report.hints.end());
  return hits;
}

std::string detailOf(const char* condition, const std::function<Value(Value x, Value label)>& program,
                     const Optimizer& optimizer = Sgd{.lr = 0.01}) {
  const std::vector<Hit> hits = hitsOf(condition, program, optimizer);
  REQUIRE(hits.size() == 1);
  return hits.front().detail;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Value healthy(Value x, Value label) {
  return softmaxCrossEntropy(linear(relu(linear(x, {.out = 4})), {.out = 2}), label);
}

}  // namespace

TEST_CASE("A healthy program has nothing that the graph alone calls wrong") {
  for (const char* condition :
       {"no_gradient", "loss_input", "hyperparameter_range", "normalization_of_one"}) {
    CAPTURE(condition);
    CHECK(hitsOf(condition, healthy).empty());
    CHECK(hitsOf(condition, healthy, AdamW{.lr = 0.001, .weightDecay = 0.1}).empty());
  }
}

TEST_CASE("no_gradient names what stops the gradient, or what nobody reads") {
  CHECK(contains(detailOf("no_gradient",
                          [](Value x, Value label) {
                            const Value h = cast(cast(linear(x, {.out = 4}), DType::Int32), DType::Float32);
                            return softmaxCrossEntropy(linear(h, {.out = 2}), label);
                          }),
                 "stopped by Cast at structure_conditions_test.cpp:"));
  CHECK(contains(detailOf("no_gradient",
                          [](Value x, Value label) {
                            relu(linear(x, {.out = 7}));
                            return healthy(x, label);
                          }),
                 "nothing that leads to the loss reads Relu at structure_conditions_test.cpp:"));
}

TEST_CASE("loss_input knows logits that are no logits, the wrong axis and the wrong sign") {
  const auto lossOf = [](Value (*wrong)(Value)) {
    return [wrong](Value x, Value label) { return softmaxCrossEntropy(wrong(linear(x, {.out = 2})), label); };
  };
  CHECK(contains(detailOf("loss_input", lossOf([](Value v) { return softmax(v); })), "twice"));
  CHECK(contains(detailOf("loss_input", lossOf([](Value v) { return relu(v); })), "negative logits"));
  CHECK(contains(detailOf("loss_input", lossOf([](Value v) { return sigmoid(v); })), "squashed"));
  CHECK(hitsOf("loss_input", lossOf([](Value v) { return tanh(v) * 30.0; })).empty());  // capped on purpose
  CHECK(contains(
      detailOf("softmax_axis",
               [](Value x, Value) { return reduceMean(softmax(linear(x, {.out = 2}), 0), {}, false); }),
      "over the batch"));
  CHECK(contains(detailOf("loss_input", [](Value x, Value label) { return 0.0 - healthy(x, label); }),
                 "minus"));
  CHECK(contains(detailOf("loss_input", [](Value x, Value label) { return healthy(x, label) * -2.0; }),
                 "minus"));
  CHECK(hitsOf("loss_input", [](Value x, Value label) { return healthy(x, label) * -1.0 * -1.0; }).empty());
}

TEST_CASE(
    "loss_input names a target that is broadcast against what is predicted, and no pairs that are meant") {
  const auto squared = [](Value difference) { return reduceMean(difference * difference, {}, false); };
  const std::string said = detailOf("loss_input", [&](Value x, Value label) {
    return squared(linear(x, {.out = 1}) - cast(label, DType::Float32));
  });
  INFO(said);
  CHECK(contains(said, "[5, 1] and "));
  CHECK(contains(said, "broadcast to [5, 5]"));
  const auto none = [](const std::function<Value(Value, Value)>& program) {
    return hitsOf("loss_input", program).empty();
  };
  CHECK(none([&](Value x, Value label) {  // one column each
    return squared(linear(x, {.out = 1}) - reshape(cast(label, DType::Float32), {5, 1}));
  }));
  CHECK(none([&](Value x, Value label) {  // several outputs, one target
    return squared(linear(x, {.out = 4}) - reshape(cast(label, DType::Float32), {5, 1}));
  }));
  CHECK(none([&](Value x, Value label) {  // every prediction with every target, as in a set's distance
    return squared(linear(x, {.out = 1}) - reshape(cast(label, DType::Float32), {1, 5}));
  }));
  CHECK(none([&](Value x, Value) {  // weights over the instances of a bag
    return squared(reduceSum(softmax(linear(x, {.out = 1}), 0) * linear(x, {.out = 3}), {0}, false));
  }));
}

TEST_CASE("hyperparameter_range names settings that no training works with") {
  const auto program = [](double ratio) {
    return [ratio](Value x, Value label) {
      return softmaxCrossEntropy(linear(dropout(relu(linear(x, {.out = 4})), ratio), {.out = 2}), label);
    };
  };
  CHECK(hitsOf("hyperparameter_range", program(0.5)).empty());
  CHECK(contains(detailOf("hyperparameter_range", program(0.99)), "drops 99 %"));
  CHECK(contains(detailOf("hyperparameter_range", healthy, Sgd{.lr = 0.1, .weightDecay = 10}),
                 "weight decay of 10"));
  const std::vector<Hit> decayed = hitsOf("hyperparameter_range", healthy, Sgd{.lr = 0.1, .weightDecay = 10});
  CHECK(decayed.front().node.valid());
  CHECK(decayed.front().writtenAt.valid());  // the rate's line is the Trainer's
  CHECK_FALSE(hitsOf("hyperparameter_range", program(0.99)).front().writtenAt.valid());
  Optimizer clipped = Sgd{.lr = 0.1};
  clipped.clipNorm = 1e-12;
  CHECK(contains(detailOf("hyperparameter_range", healthy, clipped), "clipped to next to nothing"));
  clipped.clipNorm = 1;
  CHECK(hitsOf("hyperparameter_range", healthy, clipped).empty());
}

TEST_CASE("no_activation finds two layers that are one, and lets products of low rank be") {
  const auto stacked = [](std::int64_t between, bool activated) {
    return [between, activated](Value x, Value label) {
      Value h = linear(x, {.out = between});
      if (activated) h = tanh(h);
      return softmaxCrossEntropy(linear(dropout(h, 0.1), {.out = 3}), label);
    };
  };
  CHECK(contains(detailOf("no_activation", stacked(8, false)), "no activation function between them"));
  CHECK(hitsOf("no_activation", stacked(8, true)).empty());
  CHECK(hitsOf("no_activation", stacked(1, false)).empty());
}

TEST_CASE("normalization_of_one knows a batch of one row and a layer of one feature") {
  const Trace trace = traceTraining(
      [](Graph& g) {
        const Value x = g.input("x", {1, 3}), label = g.input("label", {1}, DType::Int64);
        return softmaxCrossEntropy(linear(layerNorm(linear(batchNorm(x), {.out = 1})), {.out = 2}), label);
      },
      {{"network/x", Tensor::of<float>({1, 3}, std::vector<float>{1, 2, 3})},
       {"network/label", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1})}});
  const CheckReport report = check(*trace.source, {*parseWatchpoint("normalization_of_one")}, {});
  REQUIRE(report.hits.size() == 2);
  CHECK(contains(report.hits[0].detail, "single row"));
  CHECK(contains(report.hits[1].detail, "single value"));
}

TEST_CASE("A bias that a normalisation takes out again is no fault, a mask of -Inf neither") {
  const auto program = [](Graph& g) {
    const Value x = g.input("x", {5, 3}), label = g.input("label", {5}, DType::Int64);
    const Value h = batchNorm(linear(x, {.out = 4}));
    const Value masked =
        where(greater(h, h * 0.5), h, constant(g, -INFINITY, {}, DType::Float32, Where::current()));
    return softmaxCrossEntropy(linear(relu(h) + softmax(masked), {.out = 2}), label);
  };
  for (const Optimizer& optimizer : {Optimizer(Sgd{.lr = 0.01}), Optimizer(Adam{.lr = 0.001})}) {
    const Trace trace = traceTraining(program, inputs(), optimizer);
    const CheckReport report = check(*trace.source, recommendedSet(), {});
    CHECK((report.first ? std::string(report.first->condition->id) + ": " + report.first->detail : "") == "");
  }
}
