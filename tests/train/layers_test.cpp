#include "core_engine/train/layers.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/graph.h"

using namespace msdbg::core;
using Catch::Matchers::Contains;

namespace {

const TensorInfo& tensorNamed(const Graph& graph, const std::string& name) {
  const auto id = graph.findTensor(name);
  if (!id) FAIL("no tensor " << name);
  return graph.tensor(*id);
}

template <typename Build>
std::string buildError(Build build) {
  try {
    build();
  } catch (const BuildError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a conv layer makes a Conv with a Kaiming weight and a zero bias in the open scope") {
  Graph g;
  const Value x = g.input("x", {8, 3, 32, 32});
  const Scope scope = g.scope("conv1");
  const Value y = conv(x, {.out = 64, .kernel = 3, .stride = 2, .pad = 1});
  CHECK(y.shape() == Shape{8, 64, 16, 16});
  const TensorInfo &weight = tensorNamed(g, "network/conv1/weight"),
                   &bias = tensorNamed(g, "network/conv1/bias");
  CHECK(weight.shape == Shape{64, 3, 3, 3});
  CHECK(weight.initializer == Initializer{Initializer::Kind::kKaimingNormal, 27});
  CHECK(weight.trainable);
  CHECK(bias.shape == Shape{64});
  CHECK(bias.initializer.kind == Initializer::Kind::kZeros);
  const Node& node = g.node(y.info().producer);
  CHECK(node.name == "network/conv1/Conv-op1");
  CHECK(node.inputs == std::vector<TensorId>{x.id(), weight.id, bias.id});
}

TEST_CASE("a linear layer makes a Gemm with a transposed weight") {
  Graph g("mynet", DType::Float64);
  const Value y = linear(g.input("x", {8, 400}), {.out = 120, .bias = false});
  CHECK(y.shape() == Shape{8, 120});
  CHECK(y.dtype() == DType::Float64);
  CHECK(tensorNamed(g, "mynet/weight").shape == Shape{120, 400});
  CHECK(tensorNamed(g, "mynet/weight").initializer.value == 400);
  CHECK_FALSE(g.findTensor("mynet/bias"));
  CHECK(g.node(y.info().producer).inputs.size() == 2);
}

TEST_CASE("a layer's node has the layer's line, the caller's line and the open scopes' lines") {
  Graph g;
  const Value x = g.input("x", {1, 4});
  const int scopeLine = __LINE__ + 1;
  const Scope scope = g.scope("fc1");
  const int callLine = __LINE__ + 1;
  const Value y = linear(x, {.out = 2});
  const Node& node = g.node(y.info().producer);
  REQUIRE(node.frames.size() == 3);
  const Frame &own = g.frame(node.frames[0]), &caller = g.frame(node.frames[1]),
              &open = g.frame(node.frames[2]);
  CHECK(own.file == "core_engine/train/layers.cpp");
  CHECK(own.function == "linear");
  CHECK(own.engine);
  CHECK(caller.file == "tests/train/layers_test.cpp");
  CHECK(caller.line == callLine);
  CHECK_FALSE(caller.engine);
  CHECK(open.line == scopeLine);
  CHECK(g.userFrame(node.frames) == &caller);
  const auto weightFrames = tensorNamed(g, "network/fc1/weight").frames;
  CHECK(g.userFrame(weightFrames)->line == callLine);
}

TEST_CASE("two layers in one scope have parameters of different names") {
  Graph g;
  Value x = g.input("x", {1, 4});
  x = linear(linear(x, {.out = 4}), {.out = 4});
  CHECK(g.findTensor("network/weight"));
  CHECK(g.findTensor("network/weight2"));
  CHECK(g.findTensor("network/bias2"));
}

TEST_CASE("a layer that cannot be built says what and where") {
  Graph g;
  const Value image = g.input("x", {1, 3, 8, 8}), row = g.input("r", {1, 8});
  CHECK_THAT(buildError([&] { linear(image, {.out = 2}); }),
             Contains("[1, 3, 8, 8]") && Contains("flatten") && Contains("layers_test.cpp:"));
  CHECK_THAT(buildError([&] { conv(row, {.out = 2}); }),
             Contains("[N, C, H, W]") && Contains("layers_test.cpp:"));
  CHECK_THAT(buildError([&] { conv(image, {}); }), Contains(".out"));
  CHECK_THAT(buildError([&] { conv(image, {.out = 2, .stride = 0}); }), Contains(".stride"));
  CHECK_THAT(buildError([&] { conv(image, {.out = 2, .kernel = 9}); }), Contains("layers_test.cpp:"));
  CHECK_THAT(buildError([&] { linear(Value(), {.out = 2}); }), Contains("empty Value"));
}
