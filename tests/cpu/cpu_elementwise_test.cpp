#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Broadcast {
  Shape a, b, y;
};
const Broadcast kBroadcasts[] = {
    {{1}, {1}, {1}},
    {{}, {3, 4}, {3, 4}},
    {{5, 7}, {5, 7}, {5, 7}},
    {{5, 7}, {7}, {5, 7}},
    {{5, 1}, {1, 7}, {5, 7}},
    {{2, 3, 4, 5}, {3, 1, 1}, {2, 3, 4, 5}},
    {{1, 3, 1, 5}, {2, 1, 4, 1}, {2, 3, 4, 5}},
    {{64, 16, 9, 9}, {16, 1, 1}, {64, 16, 9, 9}},  // large enough for several threads
    {{1000, 100}, {1000, 1}, {1000, 100}},
};

/// Flat index into `shape` of element `flat` of y: digit by digit, the plain definition of broadcasting.
std::int64_t broadcastIndex(const Shape& shape, const Shape& y, std::int64_t flat) {
  std::int64_t index = 0, stride = 1;
  for (std::size_t back = 1; back <= y.rank(); ++back) {
    const std::int64_t dim = y[y.rank() - back], digit = flat % dim;
    flat /= dim;
    if (back > shape.rank()) continue;
    const std::int64_t own = shape[shape.rank() - back];
    index += (own == 1 ? 0 : digit) * stride;
    stride *= own;
  }
  return index;
}

double apply(const std::string& op, double a, double b) {
  return op == "Add" ? a + b : op == "Sub" ? a - b : op == "Mul" ? a * b : a / b;
}

}  // namespace

TEST_CASE("Add, Sub, Mul and Div broadcast and round once") {
  const std::string op = GENERATE("Add", "Sub", "Mul", "Div");
  for (const Broadcast& s : kBroadcasts) {
    CAPTURE(op, s.a.text(), s.b.text());
    const Tensor a = numbers(s.a, 1), b = numbers(s.b, 2);
    const Tensor y = fast({op, {a, b}});
    REQUIRE(y.shape() == s.y);
    CHECK(largestError(y, [&](std::int64_t i) {
            const double exact =
                apply(op, a.at(broadcastIndex(s.a, s.y, i)), b.at(broadcastIndex(s.b, s.y, i)));
            return static_cast<double>(static_cast<float>(exact));
          }) == 0);
  }
}

TEST_CASE("Arithmetic passes NaN and infinities on as IEEE 754 says") {
  const Tensor a = floats({6}, {kNan, 1, kInf, kInf, -1, 0}), b = floats({6}, {1, kNan, kInf, -kInf, 0, 0});
  const auto sum = fast({"Add", {a, b}}), difference = fast({"Sub", {a, b}}),
             quotient = fast({"Div", {a, b}});
  CHECK((std::isnan(sum.at(0)) && std::isnan(sum.at(1)) && sum.at(2) == kInf && std::isnan(sum.at(3))));
  CHECK((std::isnan(difference.at(2)) && difference.at(3) == kInf));
  CHECK((quotient.at(4) == -kInf && std::isnan(quotient.at(5))));
}

TEST_CASE("Relu keeps NaN, and its gradient passes where the output is positive or NaN") {
  const Tensor x = floats({7}, {-1, 0, -0.0f, 2, kNan, kInf, -kInf});
  const Tensor y = fast({"Relu", {x}});
  const double expected[] = {0, 0, 0, 2, kNan, kInf, 0};
  CHECK(largestError(y, [&](std::int64_t i) { return expected[i]; }) == 0);
  CHECK_FALSE(std::signbit(y.at(2)));
  const Tensor dx = fast({"ReluGrad", {floats({7}, {1, 2, 3, 4, 5, 6, 7}), y}});
  const double passed[] = {0, 0, 0, 4, 5, 6, 0};
  CHECK(largestError(dx, [&](std::int64_t i) { return passed[i]; }) == 0);
}

TEST_CASE("Sigmoid and Tanh are within 3 ulp, also on odd sizes and several threads") {
  const std::int64_t count = GENERATE(1, 15, 1003, 70001);
  const Tensor x = numbers({count}, 4, 30);
  const Tensor s = fast({"Sigmoid", {x}}), t = fast({"Tanh", {x}});
  for (std::int64_t i = 0; i < count; ++i) {
    REQUIRE(ulps(static_cast<float>(s.at(i)), 1 / (1 + std::exp(-x.at(i)))) <= 3);
    REQUIRE(ulps(static_cast<float>(t.at(i)), std::tanh(x.at(i))) <= 3);
  }
}

TEST_CASE("The gradients of Sigmoid and Tanh follow from their outputs") {
  const Tensor dy = numbers({3, 1001}, 1), y = numbers({3, 1001}, 2);
  CHECK(largestError(fast({"SigmoidGrad", {dy, y}}),
                     [&](std::int64_t i) { return dy.at(i) * y.at(i) * (1 - y.at(i)); }) < 3e-7);
  CHECK(largestError(fast({"TanhGrad", {dy, y}}),
                     [&](std::int64_t i) { return dy.at(i) * (1 - y.at(i) * y.at(i)); }) < 3e-7);
}
