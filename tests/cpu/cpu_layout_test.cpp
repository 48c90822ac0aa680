// Channels of 16: kernels give the bits that they give row-major, and conversions lose nothing.
#include <catch2/catch.hpp>
#include <limits>

#include "core_engine/runtime/layout_adapter.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

using Ints = std::vector<std::int64_t>;

bool hasBlocks() { return cpuInfo().dnnlIsa.find("avx512_core") != std::string::npos; }

Tensor positive(Shape shape, std::uint64_t seed) {
  Tensor t = numbers(std::move(shape), seed);
  for (float& x : t.data<float>()) x = 0.5f + x * x;
  return t;
}

struct LayoutCase {
  OneNode node;
  int blocked;  // tensors that may lie in channels of 16
};

// Planes of 63 and 64 positions: with and without what does not fill the lanes.
std::vector<LayoutCase> cases() {
  const Attributes training{{"training_mode", std::int64_t{1}}},
      pad{{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}};
  Attributes shaped = pad;
  shaped["shape"] = Ints{3, 16, 9, 7};
  std::vector<LayoutCase> all;
  const Tensor w = numbers({32, 16, 3, 3}, 9), c = numbers({32}, 5), v = positive({32}, 6);
  for (const Shape& shape : {Shape{3, 32, 9, 7}, Shape{2, 32, 8, 8}, Shape{1, 32, 1, 3}}) {
    const Tensor x = numbers(shape, 1, 3), dy = numbers(shape, 2);
    all.push_back({{"BatchNormalization", {x, c, c, c, v}, training}, 2});
    all.push_back({{"BatchNormalization", {x, c, c, c, v}}, 2});
    all.push_back({{"BatchNormalizationGrad", {dy, x, c, c, v}, training}, 3});
    all.push_back({{"BatchNormalizationGrad", {dy, x, c, c, v}}, 3});
    all.push_back({{"Add", {x, dy}}, 3});
    all.push_back({{"Add", {x, numbers({32, 1, 1}, 3)}}, 0});
    all.push_back({{"Relu", {x}}, 2});
    all.push_back({{"ReluGrad", {dy, x}}, 3});
  }
  const Tensor x = numbers({3, 16, 9, 7}, 1), dy = numbers({3, 32, 9, 7}, 2);
  all.push_back({{"Conv", {x, w, c}, pad}, 2});
  all.push_back({{"Conv", {numbers({3, 3, 9, 7}, 4), numbers({32, 3, 3, 3}, 5)}, pad}, 1});
  all.push_back({{"ConvGradInput", {dy, w}, shaped}, 2});
  all.push_back({{"ConvGradWeight", {dy, x}, pad}, 2});
  return all;
}

}  // namespace

TEST_CASE("Kernels give the same bits in channels of 16 as row-major") {
  if (!hasBlocks()) {
    WARN("this CPU has no AVX-512; its convolutions work in other formats");
    return;
  }
  for (const LayoutCase& c : cases()) {
    CAPTURE(c.node.opType, c.node.inputs[0].shape().text());
    const Ran plain = runFast(c.node), blocked = runBlocked(c.node);
    REQUIRE(blocked.kernel == plain.kernel);
    CHECK(blocked.blocked == c.blocked);
    for (std::size_t i = 0; i < plain.outputs.size(); ++i)
      CHECK(sameBits(plain.outputs[i], blocked.outputs[i]));
  }
}

TEST_CASE("BatchNormalizationGrad leaves infinite deviations to the reference in either layout") {
  if (!hasBlocks()) return;
  const Shape shape{2, 16, 3, 3};
  Tensor inverse = positive({16}, 6);
  inverse.data<float>()[3] = std::numeric_limits<float>::infinity();
  const OneNode node{"BatchNormalizationGrad",
                     {numbers(shape, 1), numbers(shape, 2), numbers({16}, 3), numbers({16}, 4), inverse},
                     {{"training_mode", std::int64_t{1}}}};
  const Ran plain = runFast(node), blocked = runBlocked(node);
  CHECK(blocked.blocked == 3);
  for (std::size_t i = 0; i < plain.outputs.size(); ++i)
    CHECK(sameBits(plain.outputs[i], blocked.outputs[i]));
}

TEST_CASE("Channels of 16 and back is the tensor itself, for planes of any size") {
  for (const std::int64_t side : {1, 3, 4, 5, 16, 17}) {
    const Tensor x = numbers({2, 48, side, side + 1}, 7);
    Tensor lying(DType::Float32, x.shape()), back(DType::Float32, x.shape());
    toChannels16(x, lying, 2);
    toRowMajor(lying, back, 2);
    CHECK(sameBits(x, back));
    const std::int64_t plane = side * (side + 1);  // image 1, channel 17, the last position
    CHECK(lying.at(((1 * 3 + 1) * plane + plane - 1) * 16 + 1) == x.at((48 + 17) * plane + plane - 1));
  }
}
