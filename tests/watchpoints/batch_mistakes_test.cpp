// Conditions on what a batch is, on small programs: labels that are what is read, masks that hide nothing,
// axes that are not the batch's, sums over samples.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/layers.h"
#include "tests/watchpoints/healthy_source.h"
#include "tests/watchpoints/traced_program.h"

using namespace msdbg::core;
using namespace msdbg::watch;
using Catch::Matchers::Contains;
using msdbg::test::FakeSource;
using msdbg::test::Named;
using msdbg::test::runRecommended;
using msdbg::test::Trace;
using msdbg::test::traceTraining;

namespace {

constexpr std::int64_t kRows = 2, kLength = 6, kWidth = 8, kWords = 9;

/// What the condition's watchpoint of the recommended set says, faults and hints; "" where it is silent.
std::string said(const char* condition, FakeSource& source) {
  const CheckReport report = runRecommended(source, condition);
  std::string all;
  for (const auto* hits : {&report.hits, &report.hints})
    for (const Hit& hit : *hits) all += (hits == &report.hints ? "hint: " : "fault: ") + hit.detail + "\n";
  return all;
}

std::string said(const char* condition, const msdbg::test::Program& program, const Named& inputs) {
  const Trace trace = traceTraining(program, inputs);
  return said(condition, *trace.source);
}

/// Numbers below `below`, no two neighbours equal.
Tensor counted(const Shape& shape, std::int64_t below, std::int64_t from = 0) {
  Tensor tensor(DType::Int64, shape);
  for (std::int64_t& each : tensor.data<std::int64_t>()) each = from++ % below;
  return tensor;
}

Tensor waves(const Shape& shape) {
  Tensor tensor(DType::Float32, shape);
  double next = 0;
  for (float& each : tensor.data<float>()) each = static_cast<float>(std::sin(next += 1.7));
  return tensor;
}

/// A model of words; the labels are the words `shift` places on. `between`: from [rows, length, width] to the
/// same.
std::string saidOfWords(Value (*between)(Value text), std::int64_t shift) {
  return said("target_leak",
              [&](Graph& g) {
                const Value x = g.input("x", {kRows, kLength}, DType::Int64),
                            label = g.input("label", {kRows, kLength}, DType::Int64);
                const Value text = between(embedding(x, {.count = kWords, .width = kWidth}));
                return softmaxCrossEntropy(linear(reshape(text, {-1, kWidth}), {.out = kWords}),
                                           reshape(label, {-1}));
              },
              {{"network/x", counted({kRows, kLength}, kWords)},
               {"network/label", counted({kRows, kLength}, kWords, shift)}});
}

/// One layer of attention over words of which each label is the next one, behind a mask that adds `value` to
/// what comes after a place.
std::string saidOfMask(double value, std::int64_t shift = 1) {
  static double added;
  added = value;
  return saidOfWords(
      [](Value text) {
        const Value place = range(text.graph(), kLength);
        const Value later = cast(greater(unsqueeze(place, {0}), unsqueeze(place, {1})), DType::Float32);
        return matmul(softmax(matmul(text, transpose(text, {0, 2, 1})) + later * added), text);
      },
      shift);
}

}  // namespace

TEST_CASE("target_leak hints at labels that are the tokens which an embedding reads") {
  const auto asTheyAre = [](Value text) { return tanh(text); };
  CHECK_THAT(saidOfWords(asTheyAre, 0),
             Contains("hint: network/label is network/x itself") && Contains("nothing to predict"));
  CHECK(saidOfWords(asTheyAre, 1).empty());
  const auto onePlaceOn = [](Value text) {
    const Value none = constant(text.graph(), 0, {kRows, 1, kWidth}, DType::Float32);
    return concat({none, slice(text, 1, 0, kLength - 1)}, 1);
  };
  CHECK(saidOfWords(onePlaceOn, 0).empty());  // each is predicted of the one before
}

TEST_CASE("target_leak wants the labels of every iteration to be the tokens, and batches that change") {
  const Trace trace = traceTraining(
      [](Graph& g) {
        const Value x = g.input("x", {12}, DType::Int64), label = g.input("label", {12}, DType::Int64);
        return softmaxCrossEntropy(linear(embedding(x, {.count = kWords, .width = 4}), {.out = kWords}),
                                   label);
      },
      {{"network/x", counted({12}, kWords)}, {"network/label", counted({12}, kWords)}});
  const auto saidOf = [&](std::uint64_t (*tokens)(int), std::uint64_t (*labels)(int)) {
    FakeSource run(trace.source->graph(), 1, 6);
    for (int k = 0; k < 6; ++k) {
      run.row(0, k, run.id("network/x")).values.hash = {tokens(k), 1};
      run.row(0, k, run.id("network/label")).values.hash = {labels(k), 1};
    }
    return said("target_leak", run);
  };
  const auto other = [](int k) { return std::uint64_t(k); };
  const auto same = [](int) { return std::uint64_t(0); };
  CHECK_THAT(saidOf(other, other), Contains("nothing to predict"));
  CHECK(saidOf(other, [](int k) { return std::uint64_t(k == 4 ? 9 : k); }) == "");
  CHECK(saidOf(same, same) == "");  // places of a batch, say
}

TEST_CASE("target_leak hints at one-hot rows of the tokens, and at a loss written by hand") {
  const auto saidOf = [](std::int64_t shift) {
    return said(
        "target_leak",
        [](Graph& g) {
          const Value x = g.input("x", {12}, DType::Int64), label = g.input("label", {12}, DType::Int64);
          const Value logits = linear(oneHot(x, kWords), {.out = kWords});
          return -reduceMean(reduceSum(logSoftmax(logits) * oneHot(label, kWords), {1}, false), {}, false);
        },
        {{"network/x", counted({12}, kWords)}, {"network/label", counted({12}, kWords, shift)}});
  };
  CHECK_THAT(saidOf(0), Contains("nothing to predict"));
  CHECK(saidOf(1).empty());
}

TEST_CASE("target_leak names a mask that is added and hides nothing") {
  CHECK_THAT(saidOfMask(-1e-9),
             Contains("fault: a mask is added and hides nothing") && Contains("-1e-09, which leaves 100 %"));
  CHECK_THAT(saidOfMask(-1e-9, 3), Contains("hides nothing"));  // whatever it was to hide
  CHECK_THAT(saidOfMask(-1), Contains("hides too little") && Contains("leaves 36.78"));
  CHECK(saidOfMask(-1, 3).empty());  // a soft one, where nothing has to be hidden
  CHECK(saidOfMask(-100).empty());
  CHECK(saidOfMask(-1e9).empty());
}

namespace {

/// A weight change above what is usual, of a loss made of the squared errors [32, 1].
std::string saidOfSum(Value (*lossOf)(Value squared), const Optimizer& optimizer = Sgd{.lr = 10}) {
  const Trace trace = traceTraining(
      [&](Graph& g) {
        const Value x = g.input("x", {32, 6}), y = g.input("y", {32, 1});
        const Value error = linear(x, {.out = 1}) - y;
        return lossOf(error * error);
      },
      {{"network/x", waves({32, 6})}, {"network/y", waves({32, 1})}}, optimizer);
  return said("weight_change_too_large", *trace.source);
}

}  // namespace

TEST_CASE("A step that is too large is told of the loss that sums over samples, and of no other") {
  const char* const kSum = "the loss is a sum over 32 samples: its gradient is 32 times that of a mean";
  CHECK_THAT(saidOfSum([](Value e) { return reduceSum(e, {}, false); }), Contains(kSum));
  CHECK_THAT(saidOfSum([](Value e) { return reduceSum(e, {}, false) * -1.0 * -1.0; }), Contains(kSum));
  CHECK_THAT(saidOfSum([](Value e) { return reduceSum(reduceSum(e, {0}, true), {1}, true); }),
             Contains(kSum));
  CHECK_THAT(saidOfSum([](Value e) { return reduceSum(e, {}, false) / 2.0; }),
             Contains("its gradient is 16 times"));
  for (Value (*mean)(Value) :
       {+[](Value e) { return reduceSum(e, {}, false) / 32.0; },
        +[](Value e) { return reduceSum(e, {}, false) * (1.0 / 32); },
        +[](Value e) { return reduceSum(reduceMean(e, {0}, true), {}, false) * 40.0; }})
    CHECK_THAT(saidOfSum(mean), Contains("learning rate 10") && !Contains("sum"));
  CHECK_THAT(saidOfSum([](Value e) { return reduceSum(e, {}, false); }, Adam{.lr = 10}),
             Contains("learning rate 10") && !Contains("sum"));
}

namespace {

/// What loss_input says of logits [batch, 3] that `logitsOf` makes of x [4, time, 4] and a label [4] each.
std::string saidOfAxes(Value (*logitsOf)(Value x), std::int64_t time = 4) {
  return said("loss_input",
              [&](Graph& g) {
                const Value x = g.input("x", {4, time, 4}), label = g.input("label", {4}, DType::Int64);
                return softmaxCrossEntropy(logitsOf(x), label);
              },
              {{"network/x", waves({4, time, 4})}, {"network/label", counted({4}, 3)}});
}

Value perPlace(Value x, std::int64_t width) {
  const Shape& shape = x.shape();
  return reshape(tanh(linear(reshape(x, {shape[0] * shape[1], shape[2]}), {.out = width})),
                 {shape[0], shape[1], width});
}

}  // namespace

TEST_CASE("loss_input names the operator that took the batch away, where another axis is as long") {
  CHECK_THAT(saidOfAxes([](Value x) { return linear(reduceMean(perPlace(x, 5), {0}, false), {.out = 3}); }),
             Contains("it takes the batch away, of 4 samples") && Contains("the samples of network/label"));
  CHECK_THAT(saidOfAxes([](Value x) {
               return linear(reshape(transpose(perPlace(x, 5), {1, 0, 2}), {4, 20}), {.out = 3});
             }),
             Contains("it moves the batch, of 4 samples, to another axis"));
  for (Value (*right)(Value) : {
           +[](Value x) { return linear(reduceMean(perPlace(x, 5), {1}, false), {.out = 3}); },
           +[](Value x) {
             return linear(reshape(transpose(perPlace(x, 5), {0, 2, 1}), {4, 20}), {.out = 3});
           },
           +[](Value x) {  // time first in between
             const Value h = perPlace(transpose(x, {1, 0, 2}), 5);
             return linear(reduceMean(h, {0}, false), {.out = 3});
           },
           +[](Value x) {  // a batch normalisation by hand
             const Value h = reduceMean(perPlace(x, 4), {1}, false), away = h - reduceMean(h, {0}, true);
             return linear(away / sqrt(reduceMean(away * away, {0}, true) + 1e-5), {.out = 3});
           },
           +[](Value x) {  // attention over the samples themselves
             const Value h = linear(flatten(x), {.out = 6});
             return linear(matmul(softmax(matmul(h, transpose(h, {1, 0}))), h), {.out = 3});
           },
       }) {
    CHECK(saidOfAxes(right) == "");
  }
}

TEST_CASE("loss_input is silent on samples that are compared with each other") {
  CHECK(said("loss_input",
             [](Graph& g) {
               const Value a = g.input("a", {4, 4}), b = g.input("b", {4, 4});
               const Value place = g.input("place", {4}, DType::Int64);
               const Value left = linear(a, {.out = 4}), right = linear(b, {.out = 4});
               return softmaxCrossEntropy(matmul(left, transpose(right, {1, 0})), place);
             },
             {{"network/a", waves({4, 4})},
              {"network/b", waves({4, 4})},
              {"network/place", counted({4}, 4)}}) == "");
}

TEST_CASE("loss_input knows time-major logits of batch-major labels, and targets of a difference") {
  const auto saidOf = [](bool back, bool labels) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {4, 6, 5}), label = g.input("label", {4, 6}, DType::Int64);
                  Value h = perPlace(transpose(x, {1, 0, 2}), 5);
                  if (back) h = transpose(h, {1, 0, 2});
                  const Value y = labels ? transpose(label, {1, 0}) : label;
                  return softmaxCrossEntropy(linear(reshape(h, {24, 5}), {.out = 3}), reshape(y, {24}));
                },
                {{"network/x", waves({4, 6, 5})}, {"network/label", counted({4, 6}, 3)}});
  };
  CHECK_THAT(saidOf(false, false), Contains("it moves the batch, of 4 samples, to another axis"));
  CHECK(saidOf(true, false) == "");
  CHECK(saidOf(false, true) == "");
  const auto error = [](std::int64_t axis) {
    return said("loss_input",
                [&](Graph& g) {
                  const Value x = g.input("x", {4, 4, 5}), y = g.input("y", {4, 1});
                  const Value apart = linear(reduceMean(perPlace(x, 5), {axis}, false), {.out = 1}) - y;
                  return reduceMean(apart * apart, {}, false);
                },
                {{"network/x", waves({4, 4, 5})}, {"network/y", waves({4, 1})}});
  };
  CHECK_THAT(error(0), Contains("it takes the batch away"));
  CHECK(error(1) == "");
}

TEST_CASE("A Relu that dies of the first steps is told of the loss that sums over samples") {
  constexpr int kIterations = 40;
  const auto diesIn = [](int iteration, Value (*lossOf)(Value each)) {
    const Trace trace = traceTraining(
        [&](Graph& g) {
          const Value x = g.input("x", {32, 6});
          return lossOf(linear(relu(linear(x, {.out = 5})), {.out = 1}));
        },
        {{"network/x", waves({32, 6})}});
    FakeSource run(trace.source->graph(), 1, kIterations);
    for (const TensorInfo& info : run.graph().tensors())
      if (const StatisticsRow* row = trace.source->statistics(Rank(0), Iteration(0), info.id))
        for (int k = 0; k < kIterations; ++k) {
          StatisticsRow& now = run.row(0, k, info.id) = *row;
          if (!now.activation || k < iteration) continue;
          now.activation->shareDeadUnits = 1;
          now.values.zero = now.values.count;
        }
    return said("dead_relu", run);
  };
  const auto sum = [](Value each) { return reduceSum(each, {}, false); };
  CHECK_THAT(diesIn(3, sum), Contains("has died") && Contains("the loss is a sum over 32 samples"));
  CHECK_THAT(diesIn(30, sum), Contains("has died") && !Contains("sum over"));
  CHECK_THAT(diesIn(3, [](Value each) { return reduceMean(each, {}, false); }),
             Contains("has died") && !Contains("sum over"));
}
