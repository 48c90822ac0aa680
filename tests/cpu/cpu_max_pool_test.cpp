#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core_engine/cpu/tile_kernels.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
using Ints = std::vector<std::int64_t>;

struct PoolCase {
  Shape x;
  Ints kernel, strides, pads;
  Attributes attributes() const { return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}}; }
};
const PoolCase kCases[] = {
    {{2, 3, 8, 8}, {2, 2}, {2, 2}, {0, 0, 0, 0}},   {{1, 2, 7, 9}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{3, 1, 9, 5}, {3, 2}, {2, 3}, {1, 0, 2, 1}},   {{2, 2, 5, 5}, {5, 5}, {1, 1}, {4, 4, 4, 4}},
    {{1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},   {{64, 16, 16, 16}, {3, 3}, {2, 2}, {0, 0, 0, 0}},
    {{2, 1, 40, 41}, {2, 4}, {1, 4}, {0, 2, 0, 1}}, {{2, 3, 28, 28}, {2, 2}, {2, 2}, {0, 0, 0, 0}},
    {{1, 2, 6, 70}, {2, 2}, {2, 2}, {0, 0, 0, 0}},
};

/// Flat index of the window's first NaN, else first maximum, straight from the definition.
std::int64_t winner(const PoolCase& c, const Tensor& x, std::int64_t plane, std::int64_t oy,
                    std::int64_t ox) {
  std::int64_t best = -1;
  for (std::int64_t r = 0; r < c.kernel[0]; ++r)
    for (std::int64_t s = 0; s < c.kernel[1]; ++s) {
      const std::int64_t row = oy * c.strides[0] - c.pads[0] + r, column = ox * c.strides[1] - c.pads[1] + s;
      if (row < 0 || row >= c.x[2] || column < 0 || column >= c.x[3]) continue;
      const std::int64_t at = (plane * c.x[2] + row) * c.x[3] + column;
      const bool settled = best >= 0 && std::isnan(x.at(best));
      if (best < 0 || (!settled && (std::isnan(x.at(at)) || x.at(at) > x.at(best)))) best = at;
    }
  return best;
}

Ints winners(const PoolCase& c, const Tensor& x, const Shape& y) {
  Ints all;
  for (std::int64_t i = 0; i < y.elements(); ++i)
    all.push_back(winner(c, x, i / (y[2] * y[3]), i / y[3] % y[2], i % y[3]));
  return all;
}

void requireAgreement(const PoolCase& c, const Tensor& x) {
  CAPTURE(c.x.text(), c.kernel, c.strides, c.pads);
  const Tensor y = fast({"MaxPool", {x}, c.attributes()});
  const Ints from = winners(c, x, y.shape());
  CHECK(largestError(y, [&](std::int64_t i) { return x.at(from[static_cast<std::size_t>(i)]); }) == 0);
  const Tensor dy = numbers(y.shape(), 9);
  std::vector<double> dx(static_cast<std::size_t>(x.elements()), 0.0);
  for (std::size_t i = 0; i < from.size(); ++i)
    dx[static_cast<std::size_t>(from[i])] += dy.at(static_cast<std::int64_t>(i));
  CHECK(largestError(fast({"MaxPoolGrad", {x, y, dy}, c.attributes()}), [&](std::int64_t i) {
          return static_cast<double>(static_cast<float>(dx[static_cast<std::size_t>(i)]));
        }) == 0);
}

}  // namespace

TEST_CASE("MaxPool and its gradient agree with the definition for odd windows, strides and pads") {
  for (const PoolCase& c : kCases) requireAgreement(c, numbers(c.x, 1));
}

TEST_CASE("The first of equal maxima wins and gets the gradient") {
  for (const PoolCase& c : kCases) {
    Tensor x = numbers(c.x, 2, 3);
    for (float& v : x.data<float>()) v = std::round(v);  // many ties, and both signs of zero
    requireAgreement(c, x);
    requireAgreement(c, Tensor::zeros(DType::Float32, c.x));
  }
}

TEST_CASE("NaN beats everything in MaxPool, the first one gets the gradient; windows of -inf work") {
  for (const PoolCase& c : kCases) {
    Tensor x = numbers(c.x, 3);
    const auto data = x.data<float>();
    for (std::size_t i = 0; i < data.size(); i += 5) data[i] = i % 3 == 0 ? kNan : i % 3 == 1 ? kInf : -kInf;
    requireAgreement(c, x);
    for (float& v : data) v = -kInf;
    requireAgreement(c, x);
  }
}

TEST_CASE("2 x 2 windows give the same bits by masks and by the plain loop, signs of zero too") {
  for (std::int64_t n = 1; n <= 40; ++n) {
    Tensor x = numbers({2, 2 * n}, 5, 3), dy = numbers({n}, 6);
    const auto values = x.data<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = i % 7 == 0 ? kNan : i % 4 == 0 ? -0.0f : std::round(values[i]);
    dy.data<float>()[0] = -0.0f;
    Tensor y = Tensor::zeros(DType::Float32, {n}), plainY = y.clone(), dx = x.clone(), plainDx = x.clone();
    cpu::maxOfPairsTile(values.data(), 2 * n, y.data<float>().data(), n);
    cpu::maxOfPairsBody(values.data(), 2 * n, plainY.data<float>().data(), n);
    CHECK(sameBits(y, plainY));
    cpu::routePairsTile(values.data(), 2 * n, dy.data<float>().data(), dx.data<float>().data(), n);
    cpu::routePairsBody(values.data(), 2 * n, dy.data<float>().data(), plainDx.data<float>().data(), n);
    CHECK(sameBits(dx, plainDx));
  }
}
