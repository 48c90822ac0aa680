// BatchNormalization and LayerNormalization: sizes that fill no vectors, bits that do not depend on threads.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

Tensor positive(Shape shape, std::uint64_t seed) {
  Tensor t = numbers(std::move(shape), seed);
  for (float& x : t.data<float>()) x = 0.5f + x * x;
  return t;
}

/// The largest error against the reference kernel, relative to each output's largest value.
double errorOf(const OneNode& node, const Ran& ran) {
  const Ran reference = runReference(node, stateWith(2));
  double worst = 0;
  for (std::size_t k = 0; k < reference.outputs.size(); ++k) {
    const Tensor& wanted = reference.outputs[k];
    double scale = 1e-30;
    for (std::int64_t i = 0; i < wanted.elements(); ++i) scale = std::max(scale, std::abs(wanted.at(i)));
    worst = std::max(worst, largestError(
                                ran.outputs[k], [&](std::int64_t i) { return wanted.at(i); }, scale));
  }
  return worst;
}

std::vector<OneNode> nodes() {
  const Attributes training{{"training_mode", std::int64_t{1}}};
  const Tensor c = numbers({19}, 5), v = positive({19}, 6), row = numbers({77}, 7);
  const Tensor image = numbers({6, 19, 7, 9}, 1), rows = numbers({210, 77}, 2, 3);
  return {{"BatchNormalization", {image, c, c, c, v}, training},
          {"BatchNormalization", {numbers({500, 19}, 3, 100), c, c, c, v}, training},
          {"BatchNormalization", {image, c, c, c, v}},
          {"BatchNormalizationGrad", {numbers({6, 19, 7, 9}, 8), image, c, c, v}, training},
          {"LayerNormalization", {rows, row, row}},
          {"LayerNormalization", {rows, row}},
          {"LayerNormalizationGrad",
           {numbers({210, 77}, 9), rows, row, numbers({210, 1}, 10), positive({210, 1}, 11)}}};
}

}  // namespace

TEST_CASE("Fast normalisations are within 2e-6 of the reference's largest value") {
  for (const OneNode& node : nodes()) {
    const Ran ran = runFast(node, 2);
    INFO(node.opType << " " << ran.declined);
    REQUIRE(ran.kernel == "cpu:" + node.opType);
    CHECK(errorOf(node, ran) <= 2e-6);
  }
}

TEST_CASE("Normalisations give the same bits on one, two and three threads") {
  for (const OneNode& node : nodes()) {
    INFO(node.opType);
    const Ran one = runFast(node, 1);
    for (int threads : {2, 3}) {
      const Ran many = runFast(node, threads);
      for (std::size_t i = 0; i < one.outputs.size(); ++i) CHECK(sameBits(one.outputs[i], many.outputs[i]));
    }
  }
}

TEST_CASE("A channel far from zero keeps its variance") {
  // 4096 + {-1, 1}: differences to the mean are exact, squares of the values would lose them.
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) values.push_back(4096.0f + (i % 2 ? 1.0f : -1.0f));
  const Tensor one = floats({1}, {1}), zero = floats({1}, {0});
  const Ran ran = runFast({"BatchNormalization",
                           {floats({4, 1, 16}, values), one, zero, zero, one},
                           {{"training_mode", std::int64_t{1}}, {"epsilon", 0.0}}});
  for (std::int64_t i = 0; i < 64; ++i) CHECK(ran.outputs.at(0).at(i) == (i % 2 ? 1 : -1));
}
