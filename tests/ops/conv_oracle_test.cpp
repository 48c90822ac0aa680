// Convolutions against their definition: seven nested loops that share nothing with the engine's kernels.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

struct Direct {
  Shape x, w, y;
  Ints strides, pads, dilations;

  /// f(x index, w index, y index) for every multiply-add of the convolution.
  template <typename F>
  void each(const F& f) const {
    const std::int64_t groups = x[1] / w[1], filters = y[1] / groups;
    for (std::int64_t n = 0; n < y[0]; ++n)
      for (std::int64_t o = 0; o < y[1]; ++o)
        for (std::int64_t i = 0; i < y[2]; ++i)
          for (std::int64_t j = 0; j < y[3]; ++j)
            for (std::int64_t c = 0; c < w[1]; ++c)
              for (std::int64_t r = 0; r < w[2]; ++r)
                for (std::int64_t s = 0; s < w[3]; ++s) {
                  const std::int64_t row = i * strides[0] + r * dilations[0] - pads[0],
                                     column = j * strides[1] + s * dilations[1] - pads[1],
                                     channel = o / filters * w[1] + c;
                  if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
                  f(static_cast<std::size_t>(((n * x[1] + channel) * x[2] + row) * x[3] + column),
                    static_cast<std::size_t>(((o * w[1] + c) * w[2] + r) * w[3] + s),
                    static_cast<std::size_t>(((n * y[1] + o) * y[2] + i) * y[3] + j));
                }
  }
};

Ints attribute(const Sample& s, const char* name, const Ints& fallback) {
  return intsAttribute(s.attributes, name, fallback);
}

Direct direct(const Sample& s, const Shape& x, const Shape& w, const Shape& y) {
  // SAME_LOWER for the one sample that has it: one row and two columns before, none and one after.
  const Ints pads = s.attributes.contains("auto_pad") ? Ints{1, 2, 0, 1} : Ints{0, 0, 0, 0};
  return {x,
          w,
          y,
          attribute(s, "strides", {1, 1}),
          s.attributes.contains("auto_pad") ? pads : attribute(s, "pads", pads),
          attribute(s, "dilations", {1, 1})};
}

void checkEqual(const Tensor& got, const std::vector<double>& wanted) {
  REQUIRE(static_cast<std::size_t>(got.elements()) == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    REQUIRE(got.at(static_cast<std::int64_t>(i)) == Approx(wanted[i]).epsilon(1e-12).margin(1e-12));
}

}  // namespace

TEST_CASE("The reference convolution is the sum of its definition") {
  for (const Sample& s : samples()) {
    if (s.op != "Conv") continue;
    INFO(s.what);
    const SampleGraph g = buildSample(s, DType::Float64);
    const Tensor y = runReference(g)[0];
    std::vector<double> wanted(static_cast<std::size_t>(y.elements()), 0.0);
    const std::int64_t plane = y.shape()[2] * y.shape()[3];
    direct(s, g.values[0].shape(), g.values[1].shape(), y.shape()).each([&](auto xi, auto wi, auto yi) {
      wanted[yi] += g.values[0].data<double>()[xi] * g.values[1].data<double>()[wi];
    });
    if (g.values.size() > 2)
      for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] += g.values[2].at(static_cast<std::int64_t>(i) / plane % y.shape()[1]);
    checkEqual(y, wanted);
  }
}

TEST_CASE("The gradients of the convolution distribute and collect the same products") {
  for (const Sample& s : samples()) {
    const bool input = s.op == "ConvGradInput";
    if (!input && s.op != "ConvGradWeight") continue;
    INFO(s.op << ": " << s.what);
    const SampleGraph g = buildSample(s, DType::Float64);
    const Tensor result = runReference(g)[0];
    std::vector<double> wanted(static_cast<std::size_t>(result.elements()), 0.0);
    const auto dy = g.values[0].data<double>(), other = g.values[1].data<double>();
    const Shape x = input ? result.shape() : g.values[1].shape(),
                w = input ? g.values[1].shape() : result.shape();
    direct(s, x, w, g.values[0].shape()).each([&](auto xi, auto wi, auto yi) {
      wanted[input ? xi : wi] += dy[yi] * other[input ? wi : xi];
    });
    checkEqual(result, wanted);
  }
}

TEST_CASE("Groups of images do not change a bit of a convolution") {
  // 3 images of 40 x 40 positions: three groups against one image at a time.
  const Sample s{"Conv", "groups", {{{3, 2, 40, 40}}, {{3, 2, 3, 3}}}, {}};
  const SampleGraph g = buildSample(s, DType::Float32);
  const Tensor all = runReference(g)[0];
  const std::int64_t size = g.values[0].elements() / 3;
  for (std::int64_t n = 0; n < 3; ++n) {
    const auto pixels =
        g.values[0].data<float>().subspan(static_cast<std::size_t>(n * size), static_cast<std::size_t>(size));
    const Tensor alone = callOp("Conv", {Tensor::of<float>({1, 2, 40, 40}, pixels), g.values[1]})[0];
    for (std::int64_t i = 0; i < alone.elements(); ++i)
      REQUIRE(alone.at(i) == all.at(n * alone.elements() + i));
  }
}
