// Values of normalisations, embeddings, attention's pieces and updates, from closed forms and NumPy's
// documented behaviour.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

using List = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

void check(const Tensor& got, const Shape& shape, const List& wanted) {
  CHECK(got.shape() == shape);
  REQUIRE(static_cast<std::size_t>(got.elements()) == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(got.at(static_cast<std::int64_t>(i)) == Approx(wanted[i]).epsilon(1e-12).margin(1e-13));
}

Tensor row(const List& values) { return tensorOf({static_cast<std::int64_t>(values.size())}, values); }
Tensor bools(const std::vector<bool>& values) {
  Tensor t(DType::Bool, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) t.data<bool>()[i] = values[i];
  return t;
}

}  // namespace

TEST_CASE("BatchNormalization brings channels to mean 0 and variance 1, and mixes the running values") {
  // Channel 0 holds 1, 3, 5, 7 (mean 4, variance 5), channel 1 holds 2, 2, 2, 6 (mean 3, variance 3).
  const Tensor x = tensorOf({2, 2, 2}, {1, 3, 2, 2, 5, 7, 2, 6});
  const std::vector<Tensor> inputs{x, row({2, 1}), row({0.5, 0}), row({10, 0}), row({1, 4})};
  const auto y = callOp("BatchNormalization", inputs,
                        {{"training_mode", std::int64_t{1}}, {"epsilon", 0.0}, {"momentum", 0.75}});
  const double a = 2 / std::sqrt(5.0), b = 1 / std::sqrt(3.0);
  check(y[0], {2, 2, 2}, {-3 * a + 0.5, -a + 0.5, -b, -b, a + 0.5, 3 * a + 0.5, -b, 3 * b});
  check(y[1], {2}, {10 * 0.75 + 4 * 0.25, 3 * 0.25});
  check(y[2], {2}, {0.75 + 5 * 0.25, 4 * 0.75 + 3 * 0.25});
  check(y[3], {2}, {4, 3});
  check(y[4], {2}, {1 / std::sqrt(5.0), 1 / std::sqrt(3.0)});
}

TEST_CASE("BatchNormalization uses the running values outside training, and leaves them as they are") {
  const Tensor x = tensorOf({1, 2, 1}, {12, 4});
  const std::vector<Tensor> inputs{x, row({2, 1}), row({0.5, 0}), row({10, 0}), row({1, 4})};
  const RunState evaluation{.training = false};
  const Attributes training{{"training_mode", std::int64_t{1}}, {"epsilon", 0.0}};
  const auto y = callOp("BatchNormalization", inputs, training, evaluation);
  check(y[0], {1, 2, 1}, {4.5, 2});
  check(y[1], {2}, {10, 0});
  check(y[2], {2}, {1, 4});
  check(callOp("BatchNormalization", inputs, {{"epsilon", 0.0}})[0], {1, 2, 1}, {4.5, 2});
}

TEST_CASE("LayerNormalization works on the dimensions from axis on") {
  const Tensor x = tensorOf({2, 2, 2}, {1, 3, 5, 7, 2, 2, 2, 6});
  const Tensor scale = tensorOf({2, 2}, {1, 2, 3, 4}), shift = tensorOf({2, 2}, {0, 0, 1, 1});
  const auto y =
      callOp("LayerNormalization", {x, scale, shift}, {{"axis", std::int64_t{1}}, {"epsilon", 0.0}});
  const double a = 1 / std::sqrt(5.0), b = 1 / std::sqrt(3.0);
  check(y[0], {2, 2, 2}, {-3 * a, -2 * a, 3 * a + 1, 12 * a + 1, -b, -2 * b, -3 * b + 1, 12 * b + 1});
  check(y[1], {2, 1, 1}, {4, 3});
  check(y[2], {2, 1, 1}, {a, b});
}

TEST_CASE("Gelu is x times the normal distribution's share below x") {
  check(callOp("Gelu", {row({-1, 0, 1, 2})})[0], {4},
        {-0.15865525393145707, 0, 0.8413447460685429, 1.9544997361036416});
  const double t = std::tanh(std::sqrt(2 / M_PI) * (2 + 0.044715 * 8));
  check(callOp("Gelu", {row({2})}, {{"approximate", std::string("tanh")}})[0], {1}, {1 + t});
}

TEST_CASE("HardSigmoid, HardSwish, Elu, LeakyRelu and Clip follow their pieces, and let NaN through") {
  const Tensor x = row({-4, -1, 0.5, 4});
  check(callOp("HardSigmoid", {x})[0], {4}, {0, 0.3, 0.6, 1});
  check(callOp("HardSwish", {x})[0], {4}, {0, -1.0 / 3, 0.5 * (0.5 / 6 + 0.5), 4});
  check(callOp("Elu", {x}, {{"alpha", 2.0}})[0], {4}, {2 * std::expm1(-4), 2 * std::expm1(-1), 0.5, 4});
  check(callOp("LeakyRelu", {x})[0], {4}, {-0.04, -0.01, 0.5, 4});
  check(callOp("Clip", {x}, {{"min", -2.0}, {"max", 1.0}})[0], {4}, {-2, -1, 0.5, 1});
  check(callOp("Clip", {x}, {{"min", 3.0}, {"max", 1.0}})[0], {4}, {1, 1, 1, 1});
  for (const char* op : {"HardSigmoid", "HardSwish", "Elu", "LeakyRelu", "Clip", "Gelu"})
    CHECK(std::isnan(callOp(op, {row({kNan})})[0].at(0)));
}

TEST_CASE("Max and Min take the first of equals, NaN before all") {
  const Tensor a = row({1, kNan, 3, -kInf}), b = row({2, 5, kNan, 4});
  const auto most = valuesOf(callOp("Max", {a, b})[0]), least = valuesOf(callOp("Min", {a, b})[0]);
  CHECK(most[0] == 2);
  CHECK(std::isnan(most[1]));
  CHECK(std::isnan(most[2]));
  CHECK(least[3] == -kInf);
  CHECK(std::isnan(least[2]));
}

TEST_CASE("ArgMax and ReduceMax name the first maximum, and the first NaN before that") {
  const Tensor x = tensorOf({3, 4}, {1, 5, 5, 2, 9, kNan, 3, kNan, -1, -1, -1, -1});
  const Attributes inner{{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}};
  CHECK(valuesOf(callOp("ArgMax", {x}, inner)[0]) == List{1, 1, 0});
  const auto most = valuesOf(callOp("ReduceMax", {x}, {{"axes", Ints{1}}})[0]);
  CHECK(most[0] == 5);
  CHECK(std::isnan(most[1]));
  CHECK(most[2] == -1);
}

TEST_CASE("Gather picks rows, counts from the end, and names the index that is wrong") {
  const Tensor data = tensorOf({3, 2}, {0, 1, 10, 11, 20, 21});
  check(callOp("Gather", {data, labelsOf({2, -3, 2})})[0], {3, 2}, {20, 21, 0, 1, 20, 21});
  CHECK_THROWS_WITH(callOp("Gather", {data, labelsOf({0, 3})}),
                    Catch::Contains("index 3 (at [1] of the indices)") && Catch::Contains("[-3, 2]"));
  const Tensor dy = tensorOf({3, 2}, {1, 2, 3, 4, 5, 6});
  check(callOp("GatherGrad", {dy, labelsOf({2, -3, 2})}, {{"shape", Ints{3, 2}}})[0], {3, 2},
        {3, 4, 0, 0, 6, 8});
}

TEST_CASE("Slice follows NumPy at and beyond the ends, in both directions") {
  const Tensor x = row({0, 1, 2, 3, 4});
  const auto sliced = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    return valuesOf(
        callOp("Slice", {x}, {{"starts", Ints{start}}, {"ends", Ints{end}}, {"steps", Ints{step}}})[0]);
  };
  CHECK(sliced(1, -1, 2) == List{1, 3});
  CHECK(sliced(-100, 100, 3) == List{0, 3});
  CHECK(sliced(100, -100, -2) == List{4, 2, 0});
  CHECK(sliced(-2, 0, -1) == List{3, 2, 1});
  CHECK(sliced(2, 2, 1).empty());
  CHECK(sliced(INT64_MAX, INT64_MIN, -1) == List{4, 3, 2, 1, 0});
  CHECK(sliced(INT64_MIN, INT64_MAX, 1) == List{0, 1, 2, 3, 4});
}

TEST_CASE("Pad repeats as NumPy's modes do") {
  const Tensor x = row({1, 2, 3});
  const auto padded = [&](const char* mode) {
    return valuesOf(
        callOp("Pad", {x}, {{"pads", Ints{2, 4}}, {"mode", std::string(mode)}, {"value", 9.0}})[0]);
  };
  CHECK(padded("constant") == List{9, 9, 1, 2, 3, 9, 9, 9, 9});
  CHECK(padded("edge") == List{1, 1, 1, 2, 3, 3, 3, 3, 3});
  CHECK(padded("reflect") == List{3, 2, 1, 2, 3, 2, 1, 2, 3});
  CHECK(padded("wrap") == List{2, 3, 1, 2, 3, 1, 2, 3, 1});
}

TEST_CASE("Where, Split and Trilu move elements as they are") {
  check(callOp("Where", {bools({true, false}), row({1, 2}), tensorOf({2, 1}, {8, 9})})[0], {2, 2},
        {1, 8, 1, 9});
  const auto parts = callOp("Split", {row({1, 2, 3, 4, 5})}, {{"num_outputs", std::int64_t{2}}});
  CHECK(valuesOf(parts[0]) == List{1, 2, 3});
  CHECK(valuesOf(parts[1]) == List{4, 5});
  const Tensor mask = tensorOf({3, 3}, List(9, -kInf));
  CHECK(valuesOf(callOp("Trilu", {mask}, {{"k", std::int64_t{1}}})[0]) ==
        List{0, -kInf, -kInf, 0, 0, -kInf, 0, 0, 0});
}

TEST_CASE("Range refuses numbers that do not give its length") {
  const auto scalar = [](double v) { return tensorOf({}, {v}); };
  const Attributes three{{"length", std::int64_t{3}}};
  check(callOp("Range", {scalar(1), scalar(-5), scalar(-2.5)}, three)[0], {3}, {1, -1.5, -4});
  CHECK_THROWS_WITH(callOp("Range", {scalar(1), scalar(3), scalar(1)}, three),
                    Catch::Contains("give 2 numbers") && Catch::Contains("says 3"));
  CHECK_THROWS_WITH(callOp("Range", {scalar(1), scalar(3), scalar(0)}, three), Catch::Contains("says 3"));
}

TEST_CASE("AveragePool divides by what is inside, or by the whole window") {
  const Tensor x = tensorOf({1, 1, 2, 2}, {4, 8, 12, 16});
  Attributes attributes{{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}};
  check(callOp("AveragePool", {x}, attributes)[0], {1, 1, 2, 2}, {4, 6, 8, 10});
  attributes["count_include_pad"] = std::int64_t{1};
  check(callOp("AveragePool", {x}, attributes)[0], {1, 1, 2, 2}, {1, 3, 4, 10});
}

TEST_CASE("Adam's first step is the learning rate in the gradient's direction") {
  const Tensor p = row({1, -2}), g = row({0.5, -4}), zero = row({0, 0}), rate = tensorOf({}, {0.1});
  const Tensor step = Tensor::scalar<std::int64_t>(0);
  const auto next = callOp("AdamUpdate", {p, g, rate, zero, zero, step}, {{"epsilon", 0.0}});
  check(next[0], {2}, {0.9, -1.9});
  check(next[1], {2}, {0.05, -0.4});
  check(next[2], {2}, {0.00025, 0.016});
  const auto decayed = callOp("AdamUpdate", {p, g, rate, zero, zero, step},
                              {{"epsilon", 0.0}, {"weight_decay", 0.5}, {"decoupled", std::int64_t{1}}});
  check(decayed[0], {2}, {0.95 - 0.1, -1.9 + 0.1});
}

TEST_CASE("The second step of Adam and of Nesterov's SGD follow PyTorch's formulas") {
  const Tensor p = row({1}), g = row({2}), rate = tensorOf({}, {0.1});
  const auto adam =
      callOp("AdamUpdate", {p, g, rate, row({0.3}), row({0.02}), Tensor::scalar<std::int64_t>(1)},
             {{"weight_decay", 0.5}});
  const double gradient = 2.5, m = 0.9 * 0.3 + 0.1 * gradient, v = 0.999 * 0.02 + 0.001 * gradient * gradient;
  const double mHat = m / (1 - 0.81), vHat = v / (1 - 0.999 * 0.999);
  check(adam[0], {1}, {1 - 0.1 * mHat / (std::sqrt(vHat) + 1e-8)});
  const auto sgd =
      callOp("SgdUpdate", {p, g, rate, row({3})}, {{"momentum", 0.9}, {"nesterov", std::int64_t{1}}});
  check(sgd[1], {1}, {4.7});
  check(sgd[0], {1}, {1 - 0.1 * (2 + 0.9 * 4.7)});
}
