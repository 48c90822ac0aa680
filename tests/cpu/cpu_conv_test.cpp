#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

struct ConvCase {
  Shape x, w;
  std::int64_t strideH, strideW;
  std::vector<std::int64_t> pads;  // top, left, bottom, right

  Attributes attributes() const {
    return {{"strides", std::vector<std::int64_t>{strideH, strideW}}, {"pads", pads}};
  }
  Shape y() const {
    return {x[0], w[0], (x[2] + pads[0] + pads[2] - w[2]) / strideH + 1,
            (x[3] + pads[1] + pads[3] - w[3]) / strideW + 1};
  }
};

const ConvCase kCases[] = {
    {{2, 3, 8, 8}, {4, 3, 3, 3}, 1, 1, {1, 1, 1, 1}},
    {{1, 1, 5, 7}, {1, 1, 1, 1}, 1, 1, {0, 0, 0, 0}},
    {{3, 5, 9, 11}, {7, 5, 3, 2}, 2, 3, {1, 0, 2, 1}},
    {{2, 1, 28, 28}, {6, 1, 5, 5}, 1, 1, {2, 2, 2, 2}},
    {{2, 17, 6, 6}, {33, 17, 3, 3}, 1, 1, {1, 1, 1, 1}},
    {{4, 3, 16, 16}, {64, 3, 3, 3}, 2, 2, {1, 1, 1, 1}},
    {{2, 64, 4, 4}, {48, 64, 3, 3}, 1, 1, {1, 1, 1, 1}},
    {{1, 2, 3, 3}, {2, 2, 3, 3}, 1, 1, {0, 0, 0, 0}},
    {{2, 32, 9, 7}, {128, 32, 3, 3}, 1, 1, {1, 1, 1, 1}},
    {{1, 128, 5, 6}, {32, 128, 3, 3}, 1, 1, {0, 0, 0, 0}},
};

/// Winograd's tiles add and subtract before they multiply: they round some ten times worse.
bool byWinograd(const Ran& ran) { return ran.kernel.ends_with(":winograd"); }
double bound(const Ran& ran, double direct) { return byWinograd(ran) ? 10 * direct : direct; }

/// Roundings of a float32 sum of standard normal products, one after the other, walk at random: with the root
/// of their number. Wider vectors make more and shorter sums.
double boundOfSums(const Ran& ran, const ConvCase& c) {
  return bound(ran, 2e-6 * std::sqrt(static_cast<double>(c.w[1] * c.w[2] * c.w[3])));
}

/// f(x index, w index, y index) for every product of the convolution: its definition, in four lines of index
/// arithmetic.
template <typename F>
void forProducts(const ConvCase& c, const F& f) {
  const Shape y = c.y();
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t o = 0; o < y[1]; ++o)
      for (std::int64_t i = 0; i < y[2]; ++i)
        for (std::int64_t j = 0; j < y[3]; ++j)
          for (std::int64_t k = 0; k < c.w[1] * c.w[2] * c.w[3]; ++k) {
            const std::int64_t channel = k / (c.w[2] * c.w[3]), r = k / c.w[3] % c.w[2], s = k % c.w[3];
            const std::int64_t row = i * c.strideH + r - c.pads[0], column = j * c.strideW + s - c.pads[1];
            if (row < 0 || row >= c.x[2] || column < 0 || column >= c.x[3]) continue;
            f(((n * c.x[1] + channel) * c.x[2] + row) * c.x[3] + column, o * c.w[1] * c.w[2] * c.w[3] + k,
              ((n * y[1] + o) * y[2] + i) * y[3] + j);
          }
}

using Doubles = std::vector<double>;
Doubles zeros(const Shape& shape) { return Doubles(static_cast<std::size_t>(shape.elements()), 0.0); }

Doubles expectedForward(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor* bias) {
  Doubles y = zeros(c.y());
  const std::int64_t plane = c.y()[2] * c.y()[3], filters = c.w[0];
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = bias ? bias->at(static_cast<std::int64_t>(i) / plane % filters) : 0.0;
  forProducts(c, [&](auto xi, auto wi, auto yi) { y[static_cast<std::size_t>(yi)] += x.at(xi) * w.at(wi); });
  return y;
}

double error(const Tensor& actual, const Doubles& expected) {
  REQUIRE(actual.elements() == static_cast<std::int64_t>(expected.size()));
  return largestError(actual, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
}

}  // namespace

TEST_CASE("Conv on oneDNN agrees with its definition, with and without bias") {
  for (const ConvCase& c : kCases) {
    CAPTURE(c.x.text(), c.w.text());
    const Tensor x = numbers(c.x, 1), w = numbers(c.w, 2), b = numbers({c.w[0]}, 3);
    const Ran plain = runFast({"Conv", {x, w}, c.attributes()}),
              ran = runFast({"Conv", {x, w, b}, c.attributes()});
    CHECK(error(plain.outputs.at(0), expectedForward(c, x, w, nullptr)) < boundOfSums(plain, c));
    CHECK_THAT(ran.kernel, Catch::StartsWith("dnnl:Conv"));
    CHECK(error(ran.outputs.at(0), expectedForward(c, x, w, &b)) < boundOfSums(ran, c));
  }
}

TEST_CASE("ConvGradInput on oneDNN sends every product back to where it came from") {
  for (const ConvCase& c : kCases) {
    CAPTURE(c.x.text(), c.w.text());
    const Tensor dy = numbers(c.y(), 1), w = numbers(c.w, 2);
    Attributes attributes = c.attributes();
    attributes["shape"] = std::vector<std::int64_t>(c.x.dims().begin(), c.x.dims().end());
    Doubles dx = zeros(c.x);
    forProducts(c,
                [&](auto xi, auto wi, auto yi) { dx[static_cast<std::size_t>(xi)] += dy.at(yi) * w.at(wi); });
    const Ran ran = runFast({"ConvGradInput", {dy, w}, attributes});
    CHECK(error(ran.outputs.at(0), dx) < bound(ran, 3e-5));
  }
}

TEST_CASE("ConvGradWeight on oneDNN sums over images and positions") {
  for (const ConvCase& c : kCases) {
    CAPTURE(c.x.text(), c.w.text());
    const Tensor dy = numbers(c.y(), 1), x = numbers(c.x, 2);
    Attributes attributes = c.attributes();
    attributes["kernel_shape"] = std::vector<std::int64_t>{c.w[2], c.w[3]};
    Doubles dw = zeros(c.w);
    forProducts(c,
                [&](auto xi, auto wi, auto yi) { dw[static_cast<std::size_t>(wi)] += dy.at(yi) * x.at(xi); });
    const Ran ran = runFast({"ConvGradWeight", {dy, x}, attributes});
    CHECK(error(ran.outputs.at(0), dw) < bound(ran, 1e-4));
  }
}

TEST_CASE("Winograd is chosen by shapes alone, and gives the same bits every time") {
  const ConvCase c{{2, 32, 9, 7}, {128, 32, 3, 3}, 1, 1, {1, 1, 1, 1}};
  const Tensor x = numbers(c.x, 1), w = numbers(c.w, 2), dy = numbers(c.y(), 3);
  Attributes shaped = c.attributes(), sized = c.attributes(), strided = c.attributes();
  shaped["shape"] = std::vector<std::int64_t>(c.x.dims().begin(), c.x.dims().end());
  sized["kernel_shape"] = std::vector<std::int64_t>{3, 3};
  strided["strides"] = std::vector<std::int64_t>{2, 2};
  const OneNode nodes[] = {{"Conv", {x, w}, c.attributes()},
                           {"ConvGradInput", {dy, w}, shaped},
                           {"ConvGradWeight", {dy, x}, sized}};
  const bool has = cpuInfo().dnnlIsa.find("avx512_core") != std::string::npos;
  for (const OneNode& node : nodes) {
    const Ran first = runFast(node);
    CHECK(byWinograd(first) == has);
    for (int i = 0; i < 5; ++i) CHECK(sameBits(runFast(node).outputs[0], first.outputs[0]));
  }
  CHECK_FALSE(byWinograd(runFast({"Conv", {x, w}, strided})));
  CHECK_FALSE(
      byWinograd(runFast({"Conv", {numbers({2, 32, 9, 7}, 1), numbers({64, 32, 3, 3}, 2)}, c.attributes()})));
  CHECK_FALSE(byWinograd(runFast({"Conv", {x, numbers({128, 32, 5, 5}, 2)}, c.attributes()})));
}

TEST_CASE("A NaN in one pixel reaches exactly the outputs whose window covers it") {
  const ConvCase c{{2, 3, 6, 6}, {5, 3, 3, 3}, 1, 1, {1, 1, 1, 1}};
  Tensor x = numbers(c.x, 1);
  x.data<float>()[2 * 36 + 14] =
      std::numeric_limits<float>::quiet_NaN();  // image 0, channel 2, row 2, column 2
  const Tensor y = fast({"Conv", {x, numbers(c.w, 2)}, c.attributes()});
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t row = i / 6 % 6, column = i % 6, image = i / 180;
    CHECK(std::isnan(y.at(i)) == (image == 0 && row >= 1 && row <= 3 && column >= 1 && column <= 3));
  }
}

TEST_CASE("An infinity in a weight makes the outputs of its filter infinite or NaN and no other") {
  Tensor w = numbers({5, 3, 3, 3}, 1);
  w.data<float>()[27 * 3 + 13] = std::numeric_limits<float>::infinity();  // the centre of filter 3, channel 1
  const Tensor y =
      fast({"Conv", {numbers({2, 3, 6, 6}, 2), w}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}});
  for (std::int64_t i = 0; i < y.elements(); ++i) CHECK(std::isfinite(y.at(i)) == (i / 36 % 5 != 3));
}
