#include "core_engine/graph/graph.h"

#include <catch2/catch.hpp>

#include "core_engine/graph/verify.h"
#include "core_engine/ops/functions.h"
#include "tests/graph/sample_graph.h"

using namespace msdbg;
using namespace msdbg::core;
using test::sampleGraph;
using test::tensorInfo;

TEST_CASE("Nodes are numbered per scope and type") {
  Graph g;
  const TensorId x = g.addSource(tensorInfo({2}, TensorRole::kInput, "network/x"));
  const auto add = [&](const char* type, const char* scope) {
    return g.node(g.addNode(type, scope, Phase::kForward, {x}, {}, {tensorInfo({2})}, {})).name;
  };
  CHECK(add("Relu", "network/a") == "network/a/Relu-op1");
  CHECK(add("Relu", "network/b") == "network/b/Relu-op1");
  CHECK(add("Relu", "network/a") == "network/a/Relu-op2");
  CHECK(add("Tanh", "network/a") == "network/a/Tanh-op1");
  CHECK(add("Relu", "") == "Relu-op1");
}

TEST_CASE("Outputs get their name, slot and producer from the node") {
  const Graph g = sampleGraph();
  const Node& split = g.node(*g.findNode("network/Fork-op1"));
  REQUIRE(split.outputs.size() == 2);
  const TensorInfo& second = g.tensor(split.outputs[1]);
  CHECK(second.fullName() == "network/Fork-op1:1");
  CHECK(second.producer == split.id);
  CHECK_FALSE(second.isSource());
  CHECK(g.tensor(TensorId(0)).isSource());
}

TEST_CASE("A tensor is found by its name with and without slot and by its alias") {
  const Graph g = sampleGraph();
  CHECK(g.findTensor("network/Fork-op1") == TensorId(3));
  CHECK(g.findTensor("network/Fork-op1:0") == TensorId(3));
  CHECK(g.findTensor("network/Fork-op1:1") == TensorId(4));
  CHECK(g.findTensor("network/fc/weight") == TensorId(1));
  CHECK(g.findTensor("grad(network/fc/weight)") == TensorId(6));
  CHECK_FALSE(g.findTensor("network/Fork-op1:2"));
  CHECK_FALSE(g.findTensor("Fork-op1"));
  CHECK_FALSE(g.findTensor(""));
  CHECK_FALSE(g.findNode("network/x"));
}

TEST_CASE("setAlias makes a tensor known by the name, and replaces an earlier one") {
  Graph g = sampleGraph();
  g.setAlias(TensorId(7), "next(network/fc/weight)");
  CHECK(g.findTensor("next(network/fc/weight)") == TensorId(7));
  g.setAlias(TensorId(7), "other");
  CHECK_FALSE(g.findTensor("next(network/fc/weight)"));
  CHECK(g.tensor(TensorId(7)).alias == "other");
}

TEST_CASE("Consumers come in order, each once, also when it reads a tensor twice") {
  Graph g = sampleGraph();
  const TensorId weight(1);
  CHECK(g.consumers(weight) == std::vector<NodeId>{NodeId(1), NodeId(4)});
  const NodeId twice =
      g.addNode("Mystery", "network", Phase::kForward, {weight, weight}, {}, {tensorInfo({})}, {});
  CHECK(g.consumers(weight) == std::vector<NodeId>{NodeId(1), NodeId(4), twice});
  CHECK(g.consumers(g.node(twice).outputs[0]).empty());
  CHECK(g.consumers(TensorId(0)) == std::vector<NodeId>{NodeId(0)});
}

TEST_CASE("Kernels are found from their nodes") {
  Graph g = sampleGraph();
  CHECK(g.kernelsOf(NodeId(2)) == std::vector<KernelId>{KernelId(1)});
  g.setKernels({});
  CHECK(g.kernelsOf(NodeId(2)).empty());
}

TEST_CASE("Equal frames have one id, and the user's frame is the innermost outside the engine") {
  Graph g = sampleGraph();
  const Frame user = g.frame(FrameId(0));
  CHECK(g.addFrame(user) == FrameId(0));
  Frame other = user;
  other.function = "main";
  CHECK(g.addFrame(other) == FrameId(2));
  CHECK(g.userFrame(g.node(NodeId(0)).frames)->file == "app/net.cpp");
  CHECK(g.userFrame(std::vector<FrameId>{FrameId(1)})->file == "core_engine/train/layers.cpp");
  CHECK(g.userFrame({}) == nullptr);
}

TEST_CASE("uniqueName counts up from 2") {
  Graph g = sampleGraph();
  CHECK(g.uniqueName("network/y") == "network/y");
  CHECK(g.uniqueName("network/x") == "network/x2");
  g.addSource(tensorInfo({}, TensorRole::kInput, "network/x2"));
  CHECK(g.uniqueName("network/x") == "network/x3");
  CHECK(g.uniqueName("network/Mystery-op1") == "network/Mystery-op12");
}

TEST_CASE("A graph made from tables goes on numbering where the tables end") {
  Graph g = test::Tables(sampleGraph()).graph();
  CHECK(g.version() == 3);
  CHECK(g.consumers(TensorId(1)) == sampleGraph().consumers(TensorId(1)));
  const NodeId next = g.addNode("Fork", "network", Phase::kForward, {TensorId(0)}, {}, {tensorInfo({})}, {});
  CHECK(g.node(next).name == "network/Fork-op2");
}

TEST_CASE("A copy of a graph is independent") {
  Graph g = sampleGraph();
  const Graph copy = g;
  g.addNode("Mystery", "network", Phase::kForward, {TensorId(0)}, {}, {tensorInfo({})}, {});
  CHECK(copy.nodes().size() + 1 == g.nodes().size());
  CHECK_FALSE(copy.findNode("network/Mystery-op2"));
}

TEST_CASE("withFloatingDType changes floating tensors and what Cast casts to, and the result is valid") {
  Graph g;
  const Value x = g.input("x", {2, 3});
  const Value label = g.input("label", {2}, DType::Int64);
  const Value weights = cast(label, DType::Float32);
  const Value y = relu(x) * reshape(weights, {2, 1});
  const Value n = cast(y, DType::Int32);
  const Graph wide = g.withFloatingDType(DType::Float64);
  CHECK(wide.floatingDType() == DType::Float64);
  CHECK(wide.tensor(y.id()).dtype == DType::Float64);
  CHECK(wide.tensor(weights.id()).dtype == DType::Float64);
  CHECK(wide.tensor(label.id()).dtype == DType::Int64);
  CHECK(wide.tensor(n.id()).dtype == DType::Int32);
  CHECK(verify(wide).ok());
  CHECK(verify(wide.withFloatingDType(DType::Float32)).ok());
  CHECK(g.tensor(y.id()).dtype == DType::Float32);
}
