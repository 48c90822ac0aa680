#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

/// log(sum(exp(x))) of the line that element i lies in, in double.
double logSum(const Tensor& x, std::int64_t i, std::int64_t length) {
  const std::int64_t begin = i / length * length;
  double largest = x.at(begin), sum = 0;
  for (std::int64_t k = 1; k < length; ++k) largest = std::max(largest, x.at(begin + k));
  for (std::int64_t k = 0; k < length; ++k) sum += std::exp(x.at(begin + k) - largest);
  return largest + std::log(sum);
}

/// The same for every line of x.
std::vector<double> logSums(const Tensor& x, std::int64_t length) {
  std::vector<double> sums;
  for (std::int64_t begin = 0; begin < x.elements(); begin += length)
    sums.push_back(logSum(x, begin, length));
  return sums;
}

double lineSum(const std::function<double(std::int64_t)>& f, std::int64_t i, std::int64_t length) {
  double sum = 0;
  for (std::int64_t k = i / length * length; k < (i / length + 1) * length; ++k) sum += f(k);
  return sum;
}

Tensor labelsFor(std::int64_t rows, std::int64_t classes) {
  Tensor labels(DType::Int64, {rows});
  for (std::int64_t i = 0; i < rows; ++i)
    labels.data<std::int64_t>()[static_cast<std::size_t>(i)] = i * 7 % classes;
  return labels;
}

}  // namespace

TEST_CASE("Softmax and LogSoftmax agree with their definitions on lines of any length") {
  const std::int64_t length = GENERATE(1, 2, 10, 16, 37, 1000), lines = GENERATE(1, 5, 64);
  const Tensor x = numbers({lines, length}, 3, 20);
  const std::vector<double> sums = logSums(x, length);
  const auto logProb = [&](std::int64_t i) { return x.at(i) - sums[static_cast<std::size_t>(i / length)]; };
  CAPTURE(length, lines);
  CHECK(largestError(fast({"Softmax", {x}}), [&](std::int64_t i) { return std::exp(logProb(i)); }) < 1e-6);
  CHECK(largestError(fast({"LogSoftmax", {x}}), logProb, 40) < 2e-7);
}

TEST_CASE("The gradients of Softmax and LogSoftmax agree with their formulas") {
  const std::int64_t length = GENERATE(1, 10, 37, 1000);
  const Tensor x = numbers({6, length}, 3, 3), dy = numbers({6, length}, 4);
  const Tensor s = fast({"Softmax", {x}}), l = fast({"LogSoftmax", {x}});
  const auto dot = [&](std::int64_t i) {
    return lineSum([&](std::int64_t k) { return dy.at(k) * s.at(k); }, i, length);
  };
  const auto sum = [&](std::int64_t i) {
    return lineSum([&](std::int64_t k) { return dy.at(k); }, i, length);
  };
  CHECK(largestError(fast({"SoftmaxGrad", {dy, s}}),
                     [&](std::int64_t i) { return (dy.at(i) - dot(i)) * s.at(i); }) < 1e-6);
  CHECK(largestError(fast({"LogSoftmaxGrad", {dy, l}}),
                     [&](std::int64_t i) { return dy.at(i) - std::exp(l.at(i)) * sum(i); }) < 5e-6);
}

TEST_CASE("A NaN or an infinity makes its line of Softmax NaN and no other") {
  const float odd = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  const std::int64_t place = GENERATE(0, 9, 18, 19);
  Tensor x = numbers({3, 20}, 1);
  x.data<float>()[static_cast<std::size_t>(20 + place)] = odd;
  const Tensor y = fast({"Softmax", {x}});
  const bool isNan = std::isnan(odd);
  for (std::int64_t i = 0; i < 60; ++i) {
    if (i / 20 != 1)
      CHECK(std::isfinite(y.at(i)));
    else if (isNan || i == 20 + place)
      CHECK(std::isnan(y.at(i)));
    else
      CHECK((std::isnan(y.at(i)) || y.at(i) == 0));
  }
}

TEST_CASE("Softmax along another axis is left to the reference") {
  const Ran ran = runFast({"Softmax", {numbers({3, 4, 5}, 1)}, {{"axis", std::int64_t{1}}}});
  CHECK(ran.kernel.empty());
  CHECK(ran.declined == "axis 1 of [3, 4, 5] is not the innermost one");
}

TEST_CASE("SoftmaxCrossEntropyLoss is the mean of the labels' negative log-probabilities") {
  const std::int64_t rows = GENERATE(1, 7, 64, 5000), classes = GENERATE(2, 10, 33);
  const Tensor x = numbers({rows, classes}, 5, 8), labels = labelsFor(rows, classes);
  const Ran ran = runFast({"SoftmaxCrossEntropyLoss", {x, labels}});
  REQUIRE(ran.kernel == "cpu:SoftmaxCrossEntropyLoss");
  double loss = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    loss += (logSum(x, r * classes, classes) - x.at(r * classes + static_cast<std::int64_t>(labels.at(r)))) /
            static_cast<double>(rows);
  CHECK(ran.outputs[0].at(0) == Approx(loss).epsilon(1e-6));
  CHECK(largestError(
            ran.outputs[1], [&](std::int64_t i) { return x.at(i) - logSum(x, i, classes); }, 16) < 2e-7);
}

TEST_CASE("The loss of a row that is nearly certain is small but not rounded to zero") {
  const Tensor x = floats({1, 2}, {0, -18});
  const Ran ran =
      runFast({"SoftmaxCrossEntropyLoss", {x, Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{0})}});
  CHECK(ran.outputs[0].at(0) == Approx(std::log1p(std::exp(-18.0))).epsilon(1e-5));
}

TEST_CASE("The gradient of the loss is probability minus one at the label, relatively accurate there too") {
  const std::int64_t rows = 9, classes = 10;
  const Tensor x = numbers({rows, classes}, 5, 12), labels = labelsFor(rows, classes);
  const Tensor logProb = runFast({"SoftmaxCrossEntropyLoss", {x, labels}}).outputs.at(1);
  const Tensor dx = fast({"SoftmaxCrossEntropyLossGrad", {logProb, labels, Tensor::scalar(2.0f)}});
  for (std::int64_t i = 0; i < dx.elements(); ++i) {
    const bool label = static_cast<std::int64_t>(labels.at(i / classes)) == i % classes;
    const double expected = (label ? std::expm1(logProb.at(i)) : std::exp(logProb.at(i))) * 2 / rows;
    CHECK(dx.at(i) == Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("A label outside the classes is an error naming the row, not undefined behaviour") {
  Graph graph("network");
  TensorInfo logits, labels, loss, logProb;
  logits.name = "network/x", logits.shape = {2, 3};
  labels.name = "network/label", labels.shape = {2}, labels.dtype = DType::Int64;
  logProb.shape = {2, 3};
  const std::vector<TensorId> inputs{graph.addSource(logits), graph.addSource(labels)};
  const Node& node = graph.node(
      graph.addNode("SoftmaxCrossEntropyLoss", "network", Phase::kForward, inputs, {}, {loss, logProb}, {}));
  const auto kernel = makeCpuBackend()->compile(graph, node, 1).kernel;
  REQUIRE(kernel);
  const Tensor x = numbers({2, 3}, 1), bad = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{0, 3});
  Tensor a(DType::Float32, {}), b(DType::Float32, {2, 3});
  const Tensor* in[] = {&x, &bad};
  Tensor* out[] = {&a, &b};
  const RunState state = stateWith(1);
  const Status status = kernel->run({node, in, out, state});
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.error().message(), Catch::Contains("row 1 is 3"));
}
