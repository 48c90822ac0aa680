// Programs with one mistake each, recorded as a user records them: what is wrong first, and the way back to
// what made it so.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iterator>

#include "core_engine/train/layers.h"
#include "replay/findings.h"
#include "tests/replay/recorded_program.h"

using namespace msdbg;
using namespace msdbg::core;
using namespace msdbg::test;
using replay::WhyStep;

namespace {

using Inputs = std::vector<std::pair<std::string, Tensor>>;

/// A hit at the first node of this type and phase, as a condition would make it.
watch::Hit hitAt(const Graph& graph, std::string_view type, Phase phase, std::int64_t iteration) {
  for (const Node& node : graph.nodes()) {
    if (node.opType != type || node.phase != phase) continue;
    watch::Hit hit;
    hit.iteration = Iteration(iteration);
    hit.rank = Rank(0);
    hit.node = node.id;
    hit.tensor = node.outputs.front();
    return hit;
  }
  FAIL("no " << type);
  return {};
}

watch::Hit hitAtTensor(const Graph& graph, const std::string& name, std::int64_t iteration) {
  watch::Hit hit;
  hit.iteration = Iteration(iteration);
  hit.rank = Rank(0);
  hit.tensor = graph.findTensor(name).value();
  hit.node = graph.tensor(hit.tensor).producer;
  return hit;
}

std::vector<std::string> names(const Graph& graph, const std::vector<WhyStep>& steps) {
  std::vector<std::string> names;
  for (const WhyStep& step : steps) names.push_back(graph.tensor(step.tensor).name);
  return names;
}

std::string reasons(const std::vector<WhyStep>& steps) {
  std::string text;
  for (const WhyStep& step : steps) text += step.reason + "\n";
  return text;
}

watch::Hit firstOf(replay::Run& run) {
  const watch::CheckReport report =
      watch::check(run, {watch::parseWatchpoint("nonfinite_propagation").orThrow()}, {});
  REQUIRE(report.first);
  return *report.first;
}

Value weights(Graph& g, const std::string& name, Shape shape, double first) {
  return parameter(g, name, std::move(shape), DType::Float32, {Initializer::Kind::kConstant, first},
                   std::source_location::current());
}

Tensor varied(Shape shape, float scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = scale * std::sin(1.7F * static_cast<float>(i) + 1);
  return floats(std::move(shape), values);
}

}  // namespace

TEST_CASE("A column that does not vary: from the quotient to the deviation, the variance and the column") {
  for (const bool values : {false, true}) {
    CAPTURE(values);
    RecordedRun recorded({.loss =
                              [](Graph& g) {
                                const Value x = g.input("x", {4, 3});
                                const Value centred = x - reduceMean(x, {0});
                                const Value normal = centred / sqrt(reduceMean(centred * centred, {0}));
                                const Value y = normal * weights(g, "scale", {3}, 1);
                                return reduceMean(y * y, {}, false);
                              },
                          .batch =
                              [](int iteration) {
                                Tensor x = varied({4, 3});
                                for (std::size_t row = 0; iteration == 2 && row < 4; ++row)
                                  x.data<float>()[3 * row + 1] = 0.5F;
                                return Inputs{{"x", x}};
                              },
                          .values = values});
    const watch::Hit first = firstOf(recorded.run());
    CHECK(first.iteration == Iteration(2));
    CHECK(recorded.run().graph().node(first.node).opType == "Div");
    CHECK(first.detail == std::string("input 1 (network/Sqrt-op1) is 0 at ") +
                              (values ? "[0, 1]" : "1 of 3 places") +
                              ": 0/0 gives NaN; add an epsilon to the divisor");
    const auto steps = replay::whyChain(recorded.run(), first);
    CHECK(names(recorded.run().graph(), steps) ==
          std::vector<std::string>{"network/Sqrt-op1", "network/ReduceMean-op2", "network/Mul-op1",
                                   "network/Sub-op1", "network/x"});
    CHECK(steps.back().reason.find(values ? "input 0 (network/x) does not vary in [:, 1]"
                                          : "input 0 (network/x) does not vary at 4 places") == 0);
    CHECK(steps.back().iteration == Iteration(2));
    REQUIRE(steps.front().statistics);
    REQUIRE(steps.front().before);
    CHECK(steps.front().statistics->values.zero == 1);
    CHECK(steps.front().before->values.zero == 0);
  }
}

TEST_CASE(
    "The logarithm of a softmax that underflows leads to the logits, and to the weight that scales them") {
  RecordedRun recorded({.loss =
                            [](Graph& g) {
                              const Value logits = g.input("x", {4, 3}) * weights(g, "scale", {3}, 1);
                              return reduceMean(log(softmax(logits)), {}, false) * -1.0;
                            },
                        .batch =
                            [](int iteration) {
                              return Inputs{{"x", varied({4, 3}, iteration < 3 ? 1 : 5e3F)}};
                            }});
  const watch::Hit first = firstOf(recorded.run());
  CHECK(first.iteration == Iteration(3));
  CHECK(first.detail.find("input 0 (network/Softmax-op1) is 0 at ") == 0);
  CHECK_THAT(first.detail, Catch::EndsWith("log(0) gives -Inf; take logSoftmax of the logits, or a loss of "
                                           "logits, instead of log(softmax(x))"));
  const auto steps = replay::whyChain(recorded.run(), first);
  CHECK(names(recorded.run().graph(), steps) ==
        std::vector<std::string>{"network/Softmax-op1", "network/Mul-op1", "network/x"});
  CHECK_THAT(reasons(steps), Catch::Contains("gets probability 0"));
  CHECK_THAT(reasons(steps), Catch::Contains("(median of 3 iterations before)"));
}

TEST_CASE("The gradient of a norm at 0 is blamed on the root, not on what it is multiplied with") {
  RecordedRun recorded({.loss =
                            [](Graph& g) {
                              const Value w = weights(g, "w", {3}, 1) * g.input("x", {3});
                              return sqrt(reduceSum(w * w, {}, false));
                            },
                        .batch =
                            [](int iteration) {
                              return Inputs{{"x", varied({3}, iteration == 2 ? 0 : 1)}};
                            }});
  const watch::Hit first = firstOf(recorded.run());
  CHECK(first.iteration == Iteration(2));
  CHECK(recorded.run().graph().node(first.node).phase == Phase::kBackward);
  CHECK(first.detail ==
        "input 1 (network/Sqrt-op1) is 0: x/0 gives Inf; add an epsilon under the root: its gradient at 0 is "
        "not finite");
  const auto steps = replay::whyChain(recorded.run(), first);
  CHECK(names(recorded.run().graph(), steps) ==
        std::vector<std::string>{"network/Sqrt-op1", "network/ReduceSum-op1", "network/Mul-op2",
                                 "network/Mul-op1", "network/x"});
}

TEST_CASE(
    "A gradient of zeros leads to the dead Relu and to the update of the bias that killed it, not to "
    "labels") {
  RecordedRun recorded({.loss =
                            [](Graph& g) {
                              Value x = g.input("x", {4, 3});
                              const Value label = g.input("label", {4}, DType::Int64);
                              {
                                const auto scope = g.scope("fc1");
                                x = relu(linear(x, {.out = 5}));
                              }
                              const auto scope = g.scope("fc2");
                              return softmaxCrossEntropy(linear(x, {.out = 2}), label);
                            },
                        .batch =
                            [](int) {
                              return Inputs{{"x", varied({4, 3})}, {"label", int64s({4}, {0, 1, 1, 0})}};
                            },
                        .iterations = 6,
                        .faults = {"dead_relu@iteration=3,node=network/fc1/bias"}});
  const Graph& graph = recorded.run().graph();
  const auto steps = replay::whyChain(recorded.run(), hitAtTensor(graph, "grad(network/fc1/weight)", 4));
  const auto way = names(graph, steps);
  INFO(reasons(steps));
  REQUIRE(way.size() >= 5);
  CHECK(way[0].find("ReluGrad") != std::string::npos);
  CHECK(way[1] == "network/fc1/Relu-op1");
  CHECK(way[2] == "network/fc1/Gemm-op1");
  CHECK(way[3] == "network/fc1/bias");
  CHECK(graph.tensor(steps[4].tensor).updateOf == steps[3].tensor);
  CHECK(steps[4].iteration == Iteration(3));
  CHECK_THAT(reasons(steps),
             Catch::Contains("the Relu is dead, and no gradient passes; where it was alive before, lower the "
                             "learning rate"));
  CHECK_THAT(reasons(steps), Catch::Contains("made so by the update of iteration 3"));
  CHECK(std::ranges::find(way, "network/label") == way.end());
}

TEST_CASE("An exponential that overflows leads to the input that left its usual range") {
  RecordedRun recorded({.loss =
                            [](Graph& g) {
                              const Value x = g.input("x", {4}) * weights(g, "scale", {4}, 1);
                              return reduceMean(exp(x), {}, false);
                            },
                        .batch =
                            [](int iteration) {
                              return Inputs{{"x", varied({4}, iteration == 3 ? 4e3F : 0.5F)}};
                            }});
  const watch::Hit first = firstOf(recorded.run());
  CHECK(first.iteration == Iteration(3));
  CHECK_THAT(first.detail, Catch::Contains("exp overflows float32 above 88.7228; subtract the largest"));
  const auto steps = replay::whyChain(recorded.run(), first);
  CHECK(names(recorded.run().graph(), steps) == std::vector<std::string>{"network/Mul-op1", "network/x"});
  CHECK_THAT(steps.back().reason,
             Catch::Contains("usually") && Catch::Contains("median of 3 iterations before"));
}

TEST_CASE("A row that is masked as a whole is blamed on the mask, through the scores it was added to") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  RecordedRun recorded({.loss =
                            [](Graph& g) {
                              const Value scores = g.input("x", {2, 3}) * weights(g, "scale", {3}, 1);
                              const Value masked = scores + g.input("mask", {2, 3});
                              const Value attention = softmax(masked);
                              return reduceMean(attention * attention, {}, false);
                            },
                        .batch =
                            [](int iteration) {
                              const float last = iteration == 2 ? -kInf : 0;
                              return Inputs{{"x", varied({2, 3})},
                                            {"mask", floats({2, 3}, {0, -kInf, -kInf, -kInf, -kInf, last})}};
                            },
                        .values = true});
  const Graph& graph = recorded.run().graph();
  const auto steps = replay::whyChain(recorded.run(), hitAt(graph, "Softmax", Phase::kForward, 2));
  CHECK(names(graph, steps) == std::vector<std::string>{"network/Add-op1", "network/mask"});
  CHECK(steps.front().reason ==
        "input 0 (network/Add-op1) is -Inf in all of [1, :]: a row of nothing but -Inf gives NaN; leave at "
        "least one place of each row unmasked, or mask with a large finite number as -1e9");
  CHECK(steps.back().reason == "input 1 (network/mask) holds 5 -Inf");
}

TEST_CASE("A step that is too large leads to the learning rate that left its usual value") {
  RecordedRun recorded({.loss =
                            [](Graph& g) {
                              const Value y = g.input("x", {4}) * weights(g, "scale", {4}, 1);
                              return reduceMean(y * y, {}, false);
                            },
                        .batch =
                            [](int) {
                              return Inputs{{"x", varied({4})}};
                            },
                        .iterations = 6,
                        .faults = {"lr@iteration=4,scale=100000"}});
  const Graph& graph = recorded.run().graph();
  const auto steps = replay::whyChain(recorded.run(), hitAtTensor(graph, "next(network/scale)", 4));
  REQUIRE(steps.size() == 1);
  CHECK(steps.front().reason ==
        "input 2 (optimizer/learning_rate) reaches 1000, usually 0.01 (median of 4 iterations before)");
}

TEST_CASE("Where every input is as usual the way is empty: it went wrong in the node itself") {
  RecordedRun recorded({.loss =
                            [](Graph& g) {
                              const Value y = relu(g.input("x", {4}) * weights(g, "scale", {4}, 1));
                              return reduceMean(y * y, {}, false);
                            },
                        .batch =
                            [](int) {
                              return Inputs{{"x", varied({4})}};
                            },
                        .faults = {"nan@iteration=2,node=network/Mul-op1"}});
  const watch::Hit first = firstOf(recorded.run());
  CHECK(first.detail == "its inputs are all finite");
  CHECK(replay::whyChain(recorded.run(), first).empty());
}
