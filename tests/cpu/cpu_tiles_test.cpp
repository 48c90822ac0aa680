// Kernels that work in parts give the bits that they give all at once.
#include <catch2/catch.hpp>
#include <set>

#include "core_engine/cpu/kernel_factory.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

const Shape kWide({13, 7, 333});  // rows of odd length; more than a thread's part

Tensor positive(Shape shape, std::uint64_t seed) {
  Tensor t = numbers(std::move(shape), seed);
  for (float& x : t.data<float>()) x = 0.5f + x * x;
  return t;
}

/// Of every operator whose kernel works in parts, whatever the layout.
std::vector<OneNode> nodes() {
  const Tensor x = numbers(kWide, 1, 3), y = numbers(kWide, 2), row = numbers({333}, 3);
  const Tensor plane = positive({7, 1}, 4), rate = Tensor::scalar<float>(0.01f),
               step = Tensor::scalar<std::int64_t>(6);
  std::vector<OneNode> all;
  for (const char* op : {"Add", "Sub", "Mul", "Div"})
    for (const Tensor& b : {positive(kWide, 5), plane, rate}) {
      all.push_back({op, {x, b}});
      if (b.shape() != kWide) all.push_back({op, {b, positive(kWide, 6)}});
    }
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Gelu", "Softmax", "LogSoftmax"})
    all.push_back({op, {x}});
  for (const char* op : {"Log", "Sqrt"}) all.push_back({op, {positive(kWide, 7)}});
  for (const char* op : {"ReluGrad", "SigmoidGrad", "TanhGrad", "GeluGrad", "SoftmaxGrad", "LogSoftmaxGrad"})
    all.push_back({op, {x, y}});
  all.push_back({"LayerNormalization", {x, row, numbers({333}, 8)}});
  all.push_back({"LayerNormalization", {x, row}});
  const OneNode dropout{"Dropout", {x}, {{"ratio", 0.3}}};
  all.push_back(dropout);
  all.push_back({"DropoutGrad", {x, runFast(dropout).outputs.at(1)}, {{"ratio", 0.3}}});
  all.push_back({"SgdUpdate", {x, y, rate, numbers(kWide, 9)}, {{"momentum", 0.9}}});
  all.push_back({"AdamUpdate", {x, y, rate, y, positive(kWide, 10), step}});
  for (const std::int64_t micro : {0, 2}) {  // the first of three micro batches, and the one that updates
    const Tensor microStep = Tensor::scalar(micro);
    const std::int64_t every = 3;
    all.push_back({"AccumulateGradient", {x, y, microStep}, {{"steps", every}}});
    all.push_back({"SgdUpdate", {x, y, rate, microStep}, {{"every", every}, {"lr_factor", 0.3}}});
    all.push_back(
        {"SgdUpdate", {x, y, rate, numbers(kWide, 9), microStep}, {{"momentum", 0.9}, {"every", every}}});
    all.push_back({"AdamUpdate", {x, y, rate, y, positive(kWide, 10), step, microStep}, {{"every", every}}});
  }
  return all;
}

}  // namespace

TEST_CASE("A kernel that works in parts gives the same bits in parts as at once") {
  std::set<std::string> tried{"BatchNormalization"};  // in channels of 16: same_bits_test.cpp, resnet20
  for (const OneNode& node : nodes()) {
    CAPTURE(node.opType, node.inputs.back().shape().text());
    const Ran whole = runFast(node, 1);
    REQUIRE(whole.kernel == "cpu:" + node.opType);
    for (const int threads : {1, 2, 3}) {
      const Ran parts = runInParts(node, threads);
      REQUIRE(parts.kernel == "group:" + node.opType);
      for (std::size_t i = 0; i < whole.outputs.size(); ++i)
        CHECK(sameBits(parts.outputs[i], whole.outputs[i]));
    }
    tried.insert(node.opType);
  }
  for (const cpu::KernelRow& row : cpu::builtinKernels())
    if (row.tiles) CHECK(tried.contains(std::string(row.opType)));
}

TEST_CASE("A kernel that must see everything first does not work in parts") {
  CHECK(runInParts({"Softmax", {numbers(kWide, 1)}, {{"axis", std::int64_t{0}}}}).kernel.empty());
  CHECK(runInParts({"ReduceSum", {numbers(kWide, 1)}}).kernel.empty());
}
