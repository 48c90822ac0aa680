// Values of what programs are made of beside layers: signs, waves, logic, one-hot rows, groups. From closed
// forms and ONNX's and PyTorch's documented behaviour.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core_engine/autodiff/autodiff.h"
#include "core_engine/ops/functions.h"
#include "tests/ops/samples.h"
#include "tests/support/interpreter.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

using List = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor row(const List& values) { return tensorOf({static_cast<std::int64_t>(values.size())}, values); }
Tensor bools(const std::vector<bool>& values) {
  Tensor t(DType::Bool, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) t.data<bool>()[i] = values[i];
  return t;
}

}  // namespace

TEST_CASE("Neg, Abs, Sin and Cos of special numbers") {
  CHECK(valuesOf(callOp("Neg", {row({1, -2, kInf})})[0]) == List{-1, 2, -kInf});
  CHECK(std::signbit(callOp("Neg", {row({0})})[0].at(0)));
  CHECK(valuesOf(callOp("Abs", {row({-1.5, 0, 2, -kInf})})[0]) == List{1.5, 0, 2, kInf});
  CHECK(std::isnan(callOp("Abs", {row({kNan})})[0].at(0)));
  CHECK(callOp("Sin", {row({std::acos(-1.0) / 6})})[0].at(0) == Approx(0.5));
  CHECK(callOp("Cos", {row({std::acos(-1.0) / 3})})[0].at(0) == Approx(0.5));
  CHECK(std::isnan(callOp("Sin", {row({kInf})})[0].at(0)));
}

TEST_CASE("The gradient of Abs is the sign, 0 at 0 and NaN at NaN") {
  const Tensor dx = callOp("AbsGrad", {row({3, 3, 3, 3}), row({-2, 0, 5, kNan})})[0];
  CHECK(dx.at(0) == -3);
  CHECK(dx.at(1) == 0);
  CHECK(dx.at(2) == 3);
  CHECK(std::isnan(dx.at(3)));
}

TEST_CASE("Softplus neither overflows nor loses what is small") {
  const Tensor y = callOp("Softplus", {row({0, 1000, -1000, -40, kNan})})[0];
  CHECK(y.at(0) == Approx(std::log(2.0)));
  CHECK(y.at(1) == 1000);
  CHECK(y.at(2) == 0);
  CHECK(y.at(3) == Approx(std::exp(-40.0)).epsilon(1e-12));
  CHECK(std::isnan(y.at(4)));
}

TEST_CASE("ReduceMin: a NaN beats every number, and of equals the first gets the gradient") {
  const Tensor x = tensorOf({3, 2}, {1, 4, 2, kNan, 5, 5});
  const Tensor least = callOp("ReduceMin", {x}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}})[0];
  CHECK(least.at(0) == 1);
  CHECK(std::isnan(least.at(1)));
  CHECK(least.at(2) == 5);
  const Tensor dx = callOp("ReduceMinGrad", {row({7, 8, 9}), x, least},
                           {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}})[0];
  CHECK(valuesOf(dx) == List{7, 0, 0, 8, 9, 0});
}

TEST_CASE("Comparisons that include equality are false where either side is NaN") {
  const Tensor a = row({1, 2, 3, kNan}), b = row({2, 2, 2, 2});
  CHECK(valuesOf(callOp("GreaterOrEqual", {a, b})[0]) == List{0, 1, 1, 0});
  CHECK(valuesOf(callOp("LessOrEqual", {a, b})[0]) == List{1, 1, 0, 0});
}

TEST_CASE("Logical operators follow their truth tables") {
  const Tensor a = bools({false, false, true, true}), b = bools({false, true, false, true});
  CHECK(valuesOf(callOp("And", {a, b})[0]) == List{0, 0, 0, 1});
  CHECK(valuesOf(callOp("Or", {a, b})[0]) == List{0, 1, 1, 1});
  CHECK(valuesOf(callOp("Xor", {a, b})[0]) == List{0, 1, 1, 0});
  CHECK(valuesOf(callOp("Not", {a})[0]) == List{1, 1, 0, 0});
}

TEST_CASE("OneHot counts negative indices from the end and leaves rows of indices outside empty") {
  const Tensor ids = labelsOf({1, -1, 3, -4});
  const Tensor y = callOp("OneHot", {ids}, {{"depth", std::int64_t{3}}, {"to", std::int64_t{11}}})[0];
  CHECK(y.dtype() == DType::Float64);
  CHECK(y.shape() == Shape{4, 3});
  CHECK(valuesOf(y) == List{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  const Tensor columns = callOp("OneHot", {labelsOf({1, 0})},
                                {{"depth", std::int64_t{2}}, {"axis", std::int64_t{0}}, {"off", -1.0}})[0];
  CHECK(valuesOf(columns) == List{-1, 1, 1, -1});
  // What no index can be: neither undefined behaviour nor a one.
  CHECK(valuesOf(callOp("OneHot", {row({kNan, kInf, 1e300, 0.9})}, {{"depth", std::int64_t{1}}})[0]) ==
        List{0, 0, 0, 1});
}

TEST_CASE("oneHot has the graph's floating dtype") {
  Graph wide("network", DType::Float64), narrow("network");
  CHECK(oneHot(wide.input("i", {2}, DType::Int64), 3).dtype() == DType::Float64);
  CHECK(oneHot(narrow.input("i", {2}, DType::Int32), 3).dtype() == DType::Float32);
  const Graph widened = narrow.withFloatingDType(DType::Float64);
  CHECK(std::get<std::int64_t>(widened.nodes()[0].attributes.at("to")) == 11);
}

TEST_CASE("GroupNormalization brings each group of an image to mean 0 and variance 1") {
  // Group 0 of the image holds 1, 3, 5, 7 (mean 4, variance 5), group 1 holds 2, 2, 2, 6 (mean 3, variance
  // 3).
  const Tensor x = tensorOf({1, 4, 2}, {1, 3, 5, 7, 2, 2, 2, 6});
  const auto y = callOp("GroupNormalization", {x, row({2, 1, 1, 3}), row({0.5, 0, 0, -1})},
                        {{"num_groups", std::int64_t{2}}, {"epsilon", 0.0}});
  const double a = 1 / std::sqrt(5.0), b = 1 / std::sqrt(3.0);
  const List wanted{-6 * a + 0.5, -2 * a + 0.5, a, 3 * a, -b, -b, -3 * b - 1, 9 * b - 1};
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(y[0].at(static_cast<std::int64_t>(i)) == Approx(wanted[i]).epsilon(1e-12));
  CHECK(valuesOf(y[1]) == List{4, 3});
  CHECK(y[2].at(0) == Approx(a));
  CHECK(y[2].at(1) == Approx(b));
}

TEST_CASE("A loss of new operators has the gradient of its formula") {
  // d/dx sum(sin(x)^2 + cos(x)^2 + |x|) = sign(x), and the node of -x hands back -1.
  Graph g("network", DType::Float64);
  const Value x =
      parameter(g, "x", {3}, DType::Float64, {Initializer::Kind::kZeros, 0}, std::source_location::current());
  const Value loss =
      reduceSumSquare(sin(x), {}, false) + reduceSumSquare(cos(x), {}, false) + reduceSum(abs(-x), {}, false);
  const auto gradients = addGradients(g, loss.id(), 1.0);
  REQUIRE(gradients.ok());
  Interpreter run(g);
  run.set(x.id(), row({-2, 0.3, 5}));
  REQUIRE(run.run().ok());
  const Tensor& gradient = run.value(gradients->at(x.id()));
  CHECK(gradient.at(0) == Approx(-1));
  CHECK(gradient.at(1) == Approx(1));
  CHECK(gradient.at(2) == Approx(1));
}
