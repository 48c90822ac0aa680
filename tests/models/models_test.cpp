#include <catch2/catch.hpp>
#include <set>

#include "core_engine/graph/embedded_sources.h"
#include "core_engine/graph/value.h"
#include "core_engine/graph/verify.h"
#include "core_engine/models/model.h"

using namespace msdbg::core;

namespace {

std::int64_t parametersOf(const Graph& g) {
  std::int64_t count = 0;
  for (const TensorInfo& info : g.tensors())
    if (info.role == TensorRole::kParameter) count += info.shape.elements();
  return count;
}

std::vector<std::string> nodesOf(const Graph& g) {
  std::vector<std::string> names;
  for (const Node& node : g.nodes())
    names.push_back(node.name + " " + g.tensor(node.outputs[0]).shape.text());
  return names;
}

Graph built(const char* name, const ModelOptions& options) {
  Graph g("network", options.dtype);
  const Value loss = findModel(name)->build(g, options);
  CHECK(loss.shape() == Shape{});
  CHECK(verify(g).ok());
  return g;
}

}  // namespace

TEST_CASE("the models have as many parameters as PyTorch counts in theirs") {
  CHECK(parametersOf(built("mlp", {.batch = 2})) == 669706);
  CHECK(parametersOf(built("lenet5", {.batch = 2})) == 61706);
  CHECK(parametersOf(built("alexnet", {.batch = 2})) == 3831114);
  CHECK(parametersOf(built("resnet20", {.batch = 2})) == 272474);
  CHECK(parametersOf(built("gpt", {.batch = 2})) == 3323392);
}

TEST_CASE("lenet5 has the nodes and shapes of its paper, padded to 28x28") {
  CHECK(nodesOf(built("lenet5", {.batch = 64})) ==
        std::vector<std::string>{
            "network/conv1/Conv-op1 [64, 6, 28, 28]", "network/conv1/Relu-op1 [64, 6, 28, 28]",
            "network/conv1/MaxPool-op1 [64, 6, 14, 14]", "network/conv2/Conv-op1 [64, 16, 10, 10]",
            "network/conv2/Relu-op1 [64, 16, 10, 10]", "network/conv2/MaxPool-op1 [64, 16, 5, 5]",
            "network/Flatten-op1 [64, 400]", "network/fc1/Gemm-op1 [64, 120]",
            "network/fc1/Relu-op1 [64, 120]", "network/fc2/Gemm-op1 [64, 84]",
            "network/fc2/Relu-op1 [64, 84]", "network/fc3/Gemm-op1 [64, 10]",
            "network/SoftmaxCrossEntropyLoss-op1 []"});
}

TEST_CASE("alexnet's features shrink to 256 channels of 2x2") {
  const Graph g = built("alexnet", {.batch = 8});
  const auto shapeOf = [&](const char* node) { return g.tensor(g.node(*g.findNode(node)).outputs[0]).shape; };
  CHECK(shapeOf("network/conv1/MaxPool-op1") == Shape{8, 64, 8, 8});
  CHECK(shapeOf("network/conv2/MaxPool-op1") == Shape{8, 192, 4, 4});
  CHECK(shapeOf("network/conv3/Relu-op1") == Shape{8, 384, 4, 4});
  CHECK(shapeOf("network/conv5/MaxPool-op1") == Shape{8, 256, 2, 2});
  CHECK(shapeOf("network/fc1/Gemm-op1") == Shape{8, 1024});
  CHECK(shapeOf("network/fc2/Gemm-op1") == Shape{8, 512});
}

TEST_CASE("resnet20's planes halve twice, and only there a shortcut projects") {
  const Graph g = built("resnet20", {.batch = 8});
  const auto shapeOf = [&](const char* node) { return g.tensor(g.node(*g.findNode(node)).outputs[0]).shape; };
  CHECK(shapeOf("network/stage1/block3/Relu-op1") == Shape{8, 16, 32, 32});
  CHECK(shapeOf("network/stage2/block1/shortcut/Conv-op1") == Shape{8, 32, 16, 16});
  CHECK(shapeOf("network/stage3/block3/Relu-op1") == Shape{8, 64, 8, 8});
  CHECK(shapeOf("network/head/Gemm-op1") == Shape{8, 10});
  CHECK_FALSE(g.findNode("network/stage1/block1/shortcut/Conv-op1"));
  CHECK_FALSE(g.findNode("network/stage2/block2/shortcut/Conv-op1"));
  std::int64_t states = 0;
  for (const TensorInfo& info : g.tensors()) states += info.role == TensorRole::kOptimizerState;
  CHECK(states == 2 * 21);
}

TEST_CASE("gpt attends in 8 heads of 32 to itself and before") {
  const Graph g = built("gpt", {.batch = 2});
  const auto shapeOf = [&](const char* node) { return g.tensor(g.node(*g.findNode(node)).outputs[0]).shape; };
  CHECK(shapeOf("network/block4/attention/qkv/Squeeze-op3") == Shape{2, 8, 128, 32});
  CHECK(shapeOf("network/block1/attention/Softmax-op1") == Shape{2, 8, 128, 128});
  CHECK(shapeOf("network/Trilu-op1") == Shape{128, 128});
  CHECK(shapeOf("network/block4/mlp/fc1/Gelu-op1") == Shape{256, 1024});
  CHECK(shapeOf("network/head/Gemm-op1") == Shape{256, 256});
}

TEST_CASE("gpt's size can be chosen") {
  const ModelSize small{.layers = 2, .heads = 3, .width = 12, .context = 5, .vocabulary = 40};
  const Graph g = built("gpt", {.batch = 2, .size = small});
  const auto shapeOf = [&](const char* node) { return g.tensor(g.node(*g.findNode(node)).outputs[0]).shape; };
  CHECK(shapeOf("network/tokens/Gather-op1") == Shape{2, 5, 12});
  CHECK(shapeOf("network/block2/attention/Softmax-op1") == Shape{2, 3, 5, 5});
  CHECK(shapeOf("network/block2/mlp/fc1/Gelu-op1") == Shape{10, 48});
  CHECK(shapeOf("network/head/Gemm-op1") == Shape{10, 40});
  CHECK_FALSE(g.findNode("network/block3/norm1/LayerNormalization-op1"));
  // Per block 12 w^2 + 13 w; tokens, positions and head; the last norm.
  CHECK(parametersOf(g) == 2 * (12 * 144 + 13 * 12) + (40 + 5 + 40) * 12 + 2 * 12);
  const Graph wide = built("gpt", {.batch = 2, .size = {.width = 512}});  // the rest is the default
  CHECK(parametersOf(wide) == 4 * (12 * 512 * 512 + 13 * 512) + (256 + 128 + 256) * 512 + 2 * 512);
}

TEST_CASE("dropout follows alexnet's first two Gemms, and only when asked for") {
  const Graph without = built("alexnet", {.batch = 1}), with = built("alexnet", {.batch = 1, .dropout = 0.5});
  CHECK(with.nodes().size() == without.nodes().size() + 2);
  CHECK(with.findNode("network/fc1/Dropout-op1"));
  CHECK(with.findNode("network/fc2/Dropout-op1"));
  CHECK_FALSE(with.findNode("network/fc3/Dropout-op1"));
}

TEST_CASE("a model can be built in float64") {
  const Graph g = built("lenet5", {.batch = 1, .dtype = DType::Float64});
  for (const TensorInfo& info : g.tensors())
    CHECK(info.dtype == (info.role == TensorRole::kLabel ? DType::Int64 : DType::Float64));
}

TEST_CASE("impossible options are refused") {
  Graph g;
  CHECK_THROWS_AS(findModel("lenet5")->build(g, {.batch = 0}), BuildError);
  CHECK_THROWS_AS(findModel("lenet5")->build(g, {.batch = 1, .dropout = 0.5}), BuildError);
  CHECK_THROWS_AS(findModel("alexnet")->build(g, {.batch = 1, .dropout = 1}), BuildError);
  CHECK_THROWS_AS(findModel("gpt")->build(g, {.batch = 1, .size = {.heads = 7}}), BuildError);
  CHECK_THROWS_AS(findModel("gpt")->build(g, {.batch = 1, .size = {.layers = -1}}), BuildError);
  CHECK_THROWS_AS(findModel("gpt")->build(g, {.batch = 1, .size = {.layers = 1001}}), BuildError);
  CHECK_THROWS_AS(findModel("mlp")->build(g, {.batch = 1, .dtype = DType::Float64}), BuildError);
}

TEST_CASE("every model has a name of its own and its source inside the library") {
  std::set<std::string_view> names, embedded;
  for (const EmbeddedSource& source : embeddedSources()) embedded.insert(source.path);
  for (const ModelInfo& model : builtinModels()) {
    CHECK(names.insert(model.name).second);
    CHECK(findModel(model.name) == &model);
    CHECK(embedded.contains(model.file));
  }
  CHECK(embedded.contains("core_engine/train/layers.cpp"));
  CHECK(findModel("alexnet2") == nullptr);
}
