// Every gradient rule against central differences in float64: loss = sum over outputs of sum(weight * output)
// with fixed weights, differentiated with respect to elements of every floating input.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core_engine/autodiff/autodiff.h"
#include "core_engine/graph/verify.h"
#include "core_engine/ops/functions.h"
#include "tests/ops/samples.h"
#include "tests/support/interpreter.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

struct Check {
  SampleGraph sample;
  Value loss;
  std::vector<std::pair<TensorId, Tensor>> weights;
  std::map<TensorId, TensorId> gradients;
};

Tensor randomLike(const Shape& shape, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Tensor t(DType::Float64, shape);
  for (double& v : t.data<double>()) v = normal(random);
  return t.cast(dtype);
}

/// sum(weight * output) for every floating output through which gradients flow.
Value functional(Check& c, std::size_t outputs) {
  Value loss;
  for (std::size_t i = 0; i < std::min(outputs, c.sample.outputs.size()); ++i) {
    const Value output = c.sample.outputs[i];
    if (!isFloating(output.dtype())) continue;
    const Value weight = c.sample.graph->input("weight" + std::to_string(i), output.shape(), output.dtype());
    c.weights.push_back(
        {weight.id(), randomLike(output.shape(), output.dtype(), static_cast<unsigned>(c.weights.size()))});
    const Value term = reduceSum(output * weight, {}, false);
    loss = loss.valid() ? loss + term : term;
  }
  return loss;
}

double lossAt(const Check& c, std::size_t input, std::int64_t element, double by) {
  Interpreter run(*c.sample.graph);
  for (const auto& [id, weight] : c.weights) run.set(id, weight);
  for (std::size_t i = 0; i < c.sample.inputs.size(); ++i) {
    Tensor value = c.sample.values[i].clone();
    if (i == input) value.data<double>()[static_cast<std::size_t>(element)] += by;
    run.set(c.sample.inputs[i].id(), std::move(value));
  }
  REQUIRE(run.run().ok());
  return run.value(c.loss.id()).at(0);
}

Tensor gradientOf(const Check& c, std::size_t input) {
  Interpreter run(*c.sample.graph);
  for (const auto& [id, weight] : c.weights) run.set(id, weight);
  for (std::size_t i = 0; i < c.sample.inputs.size(); ++i)
    run.set(c.sample.inputs[i].id(), c.sample.values[i]);
  REQUIRE(run.run().ok());
  return run.value(c.gradients.at(c.sample.inputs[input].id()));
}

/// Differences of a graph without backward nodes (`plain`) against the gradients of the same graph with them.
void compare(const Check& plain, const Check& full, std::size_t input) {
  const Tensor gradient = gradientOf(full, input);
  REQUIRE(gradient.shape() == full.sample.values[input].shape());
  double scale = 0;
  for (double v : valuesOf(gradient)) scale = std::max(scale, std::abs(v));
  const std::int64_t step = gradient.elements() / 50 + 1;  // about fifty elements of the larger inputs
  for (std::int64_t e = 0; e < gradient.elements(); e += step) {
    INFO("input " << input << " element " << e);
    const double h = 1e-4, near = (lossAt(plain, input, e, h) - lossAt(plain, input, e, -h)) / (2 * h),
                 far = (lossAt(plain, input, e, 2 * h) - lossAt(plain, input, e, -2 * h)) / (4 * h);
    const double difference = (4 * near - far) / 3;  // Richardson: the h^2 term cancels
    REQUIRE(std::abs(gradient.at(e) - difference) <= 1e-6 * std::abs(difference) + 1e-8 * scale + 1e-10);
  }
}

Check makeCheck(const Sample& s, bool withGradients) {
  Check c{buildSample(s, DType::Float64), {}, {}, {}};
  c.loss = functional(c, s.gradientOutputs);
  if (!withGradients) return c;
  auto gradients = addGradients(*c.sample.graph, c.loss.id(), 1.0);
  if (!gradients.ok()) FAIL(gradients.error().message());
  c.gradients = *gradients;
  return c;
}

bool hasFloatingInput(const Sample& s) {
  for (const SampleInput& i : s.inputs)
    if (i.fill != Fill::kLabels && i.fill != Fill::kIntegers && i.fill != Fill::kMask &&
        i.fill != Fill::kIndices)
      return true;
  return false;
}

}  // namespace

TEST_CASE("Gradient rules agree with central differences in float64") {
  for (const Sample& s : samples()) {
    if (!findOp(s.op)->gradient || !s.checkGradient || !hasFloatingInput(s)) continue;
    INFO(s.op << ": " << s.what);
    const Check plain = makeCheck(s, false), full = makeCheck(s, true);
    const Status verified = verify(*full.sample.graph);
    INFO((verified.ok() ? "" : verified.error().message()));
    REQUIRE(verified.ok());
    for (std::size_t i = 0; i < std::min(s.gradientInputs, s.inputs.size()); ++i)
      if (isFloating(full.sample.values[i].dtype())) compare(plain, full, i);
  }
}

TEST_CASE("Every operator with a gradient rule has a sample whose gradient is checked") {
  for (const OpDef& op : allOps()) {
    if (!op.gradient) continue;
    INFO(op.name);
    bool checked = false;
    for (const Sample& s : samples())
      checked = checked || (s.op == op.name && s.checkGradient && hasFloatingInput(s));
    CHECK(checked);
  }
}

TEST_CASE("Gradient rules build nothing for inputs that lead to no parameter") {
  Graph g("network", DType::Float64);
  const Value x = g.input("x", {2, 3, 5, 5});
  const Value w = parameter(g, "w", {4, 3, 3, 3}, DType::Float64, {}, std::source_location::current());
  const Value y = applyOp1("Conv", {x, w}, {}, std::source_location::current());
  REQUIRE(addGradients(g, reduceSum(y, {}, false).id(), 1.0).ok());
  for (const Node& node : g.nodes()) CHECK(node.opType != "ConvGradInput");
}

TEST_CASE("The gradient of a Cast comes back in the dtype that went in, and stops at integers") {
  Graph g("network", DType::Float64);
  const Value p = parameter(g, "p", {3}, DType::Float64, {Initializer::Kind::kConstant, 2},
                            std::source_location::current());
  const Value single = cast(p, DType::Float32);
  const Value weight = g.input("weight", {3}, DType::Float32);
  const auto gradients = addGradients(g, reduceSum(single * weight, {}, false).id(), 1.0);
  REQUIRE(gradients.ok());
  Interpreter run(g);
  run.set(weight.id(), tensorOf({3}, {1, -2, 0.5}, DType::Float32));
  REQUIRE(run.run().ok());
  const Tensor& gradient = run.value(gradients->at(p.id()));
  CHECK(gradient.dtype() == DType::Float64);
  CHECK(valuesOf(gradient) == std::vector<double>{1, -2, 0.5});

  Graph integers("network", DType::Float64);
  const Value q = parameter(integers, "q", {3}, DType::Float64, {}, std::source_location::current());
  const Value back = cast(cast(q, DType::Int64), DType::Float64);
  CHECK_FALSE(addGradients(integers, reduceSum(back, {}, false).id(), 1.0).ok());
}
