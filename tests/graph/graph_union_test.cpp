// Graphs of several ranks and versions as one.
#include "core_engine/graph/graph_union.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "core_engine/graph/verify.h"
#include "tests/support/sampling.h"

using namespace msdbg;
using namespace msdbg::core;

namespace {

TensorInfo floats(std::string name, TensorRole role, Shape shape = {2}, DType dtype = DType::Float32) {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.role = role;
  info.dtype = dtype;
  return info;
}

/// A graph of operators that are nobody's, so that anything may be read by anything.
class Made {
 public:
  Graph graph{"net"};
  TensorId source(const std::string& name, Shape shape = {2}) {
    return graph.addSource(floats(name, TensorRole::kInput, std::move(shape)));
  }
  TensorId node(const std::string& type, std::vector<TensorId> inputs, Shape shape = {2},
                DType dtype = DType::Float32, int line = 1, const Attributes& attributes = {}) {
    const FrameId frame = graph.addFrame({"net.py", line, "forward", "", false});
    const NodeId id =
        graph.addNode(type, "net", Phase::kForward, std::move(inputs), attributes,
                      {floats("", TensorRole::kActivation, std::move(shape), dtype)}, {frame}, {}, "aten");
    return graph.node(id).outputs[0];
  }
};

std::string wrongIn(const Graph& graph) {
  const Status status = verify(graph);
  return status.ok() ? "" : status.error().message();
}

std::string nameOf(const Graph& graph, TensorId id) { return id.valid() ? graph.tensor(id).fullName() : ""; }

}  // namespace

TEST_CASE("Each part of a union knows its own devices") {
  Made first, second;
  for (Made* made : {&first, &second}) {
    const TensorId x = made->source("net/x"), kept = made->source("net/kept");
    const TensorId y = made->node("relu", {x});
    for (const TensorId id : {x, y}) made->graph.tensor(id).device = made == &first ? "cuda:0" : "cuda:1";
    made->graph.tensor(kept).device = made == &first ? "cuda:0" : "cpu";
  }
  second.graph.addModule("net", "Net");
  GraphUnion all(first.graph);
  const GraphPart& other = all.add(second.graph);
  const Graph& whole = all.graph();
  const auto of = [&](const GraphPart& part, const char* name) {
    return part.device(whole, whole.findTensor(name).value());
  };
  CHECK(of(all.part(0), "net/x:0") == "cuda:0");
  CHECK(of(all.part(0), "net/kept:0") == "cuda:0");
  CHECK(of(other, "net/x:0") == "cuda:1");
  CHECK(of(other, "net/relu-op1:0") == "cuda:1");
  CHECK(of(other, "net/kept:0") == "cpu");
  CHECK(other.info(whole, whole.findTensor("net/x:0").value()).device == "cuda:1");
  CHECK(other.differs(whole, whole.findTensor("net/x:0").value()));
  CHECK(whole.modules().at("net") == "Net");
}

TEST_CASE("Equal graphs are one, and nothing is translated") {
  Made made;
  made.node("relu", {made.source("net/x")});
  GraphUnion all(made.graph);
  const GraphPart& other = all.add(made.graph);
  CHECK(all.size() == 2);
  CHECK(all.graph().nodes().size() == 1);
  CHECK(all.graph().tensors().size() == 2);
  CHECK(other.order(NodeId(0)) == 0);
  CHECK(other.localTensor(TensorId(1)) == TensorId(1));
  CHECK_FALSE(other.has(TensorId(2)));
  CHECK_FALSE(other.has(NodeId()));
  CHECK(other.find(all.graph(), "net/relu-op1:0") == TensorId(1));
  CHECK_FALSE(other.find(all.graph(), "net/relu-op1").valid());
}

TEST_CASE("The same name is something else where operator, dtype or line differ, and says so") {
  Made first;
  first.node("relu", {first.source("net/x")}, {2}, DType::Float32, 10);
  GraphUnion all(first.graph);
  const auto nameIn = [&](const Made& other) {
    const GraphPart& part = all.add(other.graph);
    return nameOf(all.graph(), part.find(all.graph(), "net/relu-op1:0"));
  };
  SECTION("nothing differs but the shape") {
    Made other;
    other.node("relu", {other.source("net/x", {3})}, {3}, DType::Float32, 10);
    CHECK(nameIn(other) == "net/relu-op1:0");
    const GraphPart& part = all.part(1);
    CHECK(part.shape(all.graph(), TensorId(1)) == Shape({3}));
    CHECK(all.part(0).shape(all.graph(), TensorId(1)) == Shape({2}));
  }
  SECTION("the dtype") {
    Made other;
    other.node("relu", {other.source("net/x")}, {2}, DType::BFloat16, 10);
    CHECK(nameIn(other) == "net/relu-op1@2:0");
    CHECK(nameIn(other) == "net/relu-op1@2:0");  // and the next time it is known
    CHECK(all.graph().nodes().size() == 2);
    CHECK_FALSE(all.part(1).has(NodeId(0)));
    CHECK(all.part(1).order(NodeId(1)) == 0);
    CHECK_FALSE(all.part(0).has(NodeId(1)));
  }
  SECTION("the line") {
    Made other;
    other.node("relu", {other.source("net/x")}, {2}, DType::Float32, 11);
    CHECK(nameIn(other) == "net/relu-op1@2:0");
  }
  SECTION("the domain") {
    Made other;
    other.graph.addNode("relu", "net", Phase::kForward, {other.source("net/x")}, {},
                        {floats("", TensorRole::kActivation)},
                        {other.graph.addFrame({"net.py", 10, "", "", false})});
    CHECK(nameIn(other) == "net/relu-op1@2:0");
  }
  SECTION("a source has the name") {
    Made other;
    other.source("net/relu-op1");
    CHECK(nameIn(other) == "net/relu-op1@2:0");
  }
  CHECK(wrongIn(all.graph()) == "");
}

TEST_CASE("Names that look like second ones are kept apart") {
  Made first;
  first.source("net/x");
  Made other;  // has another net/x, and a net/x@2 of its own
  other.graph.addSource(floats("net/x", TensorRole::kInput, {2}, DType::Float64));
  other.graph.addSource(floats("net/x@2", TensorRole::kInput, {2}, DType::Float64));
  GraphUnion all(first.graph);
  const GraphPart& part = all.add(other.graph);
  CHECK(all.graph().tensors().size() == 3);
  CHECK(part.tensorAt(0) != part.tensorAt(1));
  CHECK(nameOf(all.graph(), part.find(all.graph(), "net/x:0")) == "net/x@2:0");
  CHECK(nameOf(all.graph(), part.find(all.graph(), "net/x@2:0")) == "net/x@2@2:0");
  CHECK(wrongIn(all.graph()) == "");
}

TEST_CASE("A part says what it reads, its attributes, who shares a tensor") {
  Made first, second;
  const TensorId x = first.source("net/x"), y = first.source("net/y");
  first.node("add", {x, y}, {2}, DType::Float32, 1, {{"alpha", 1.0}});
  const TensorId x2 = second.source("net/x"), y2 = second.source("net/y");
  const TensorId sum = second.node("add", {y2, x2}, {2}, DType::Float32, 1, {{"alpha", 2.0}});
  second.graph.tensor(sum).alias = "sum";
  second.graph.tensor(sum).replicated = true;
  second.graph.tensor(sum).replicas = {2, 3};
  GraphUnion all(first.graph);
  const GraphPart& part = all.add(second.graph);
  const Graph& whole = all.graph();
  CHECK(whole.nodes().size() == 1);
  CHECK(std::ranges::equal(part.inputs(whole, NodeId(0)), std::vector{y, x}));
  CHECK(std::ranges::equal(all.part(0).inputs(whole, NodeId(0)), std::vector{x, y}));
  CHECK(std::get<double>(part.attributes(whole, NodeId(0)).at("alpha")) == 2);
  CHECK(std::ranges::equal(part.replicas(whole, whole.node(NodeId(0)).outputs[0]), std::vector{2, 3}));
  CHECK(all.part(0).replicas(whole, whole.node(NodeId(0)).outputs[0]).empty());
}

TEST_CASE("Gradients, updates, aliases and kernels of what is new point to what is there") {
  const auto made = [](const std::string& name, DType dtype) {
    Made builder;
    TensorInfo weight = floats(name, TensorRole::kParameter, {2}, dtype);
    weight.trainable = true;
    const TensorId w = builder.graph.addSource(weight);
    const TensorId y = builder.node("relu", {w}, {2}, dtype);
    TensorInfo gradient = floats("", TensorRole::kGradient, {2}, dtype);
    gradient.gradientOf = w;
    gradient.alias = "grad(" + name + ")";
    const NodeId back = builder.graph.addNode("reluGrad", "grad/net", Phase::kBackward, {y, w}, {},
                                              {gradient}, {}, builder.graph.tensor(y).producer);
    builder.graph.setKernels(
        {{KernelId(0), "cuda:relu", {NodeId(0)}}, {KernelId(1), "cuda:reluGrad", {back}}});
    return std::move(builder.graph);
  };
  GraphUnion all(made("net/w", DType::Float32));
  all.add(made("net/w", DType::Float64));
  const Graph& whole = all.graph();
  CHECK(wrongIn(whole) == "");
  const TensorId gradient = whole.findTensor("grad(net/w)@2").value();
  CHECK(nameOf(whole, whole.tensor(gradient).gradientOf) == "net/w@2:0");
  CHECK(whole.node(whole.tensor(gradient).producer).derivedFrom == whole.findNode("net/relu-op1@2"));
  CHECK(whole.kernels().size() == 4);
  CHECK(whole.kernelsOf(*whole.findNode("net/relu-op1@2")).size() == 1);
}

TEST_CASE("A backward node that comes from another forward node than that of its name is one of its own") {
  // In the first iteration data are made before: all numbers are one further on.
  const auto made = [](bool first) {
    Made builder;
    const TensorId x = builder.source("net/x");
    if (first) builder.node("mul", {x}, {2}, DType::Float32, 7);
    const TensorId a = builder.node("mul", {x}), b = builder.node("mul", {a});
    for (const TensorId of : {b, a})
      builder.graph.addNode("mulGrad", "grad/net", Phase::kBackward, {of}, {},
                            {floats("", TensorRole::kGradient, {2})}, {}, builder.graph.tensor(of).producer);
    return std::move(builder.graph);
  };
  GraphUnion all(made(false));
  all.add(made(true));
  const Graph& whole = all.graph();
  CHECK(wrongIn(whole) == "");
  std::vector<bool> differentiated(whole.nodes().size());
  for (const Node& node : whole.nodes())
    if (node.derivedFrom.valid()) differentiated[node.derivedFrom.index()] = true;
  for (const Node& node : whole.nodes()) {
    CAPTURE(node.name);
    const bool data = whole.userFrame(node.frames) && whole.userFrame(node.frames)->line == 7;
    if (node.phase == Phase::kForward) CHECK(differentiated[node.id.index()] == !data);
  }
}

TEST_CASE("A sequence of any length has one backward node for each forward node") {
  const auto sequence = [](int length) {
    Made builder;
    std::vector<TensorId> steps{builder.source("net/x")};
    for (int i = 0; i < length; ++i) steps.push_back(builder.node("mul", {steps.back()}));
    for (; steps.size() > 1; steps.pop_back())
      builder.graph.addNode("mulGrad", "grad/net", Phase::kBackward, {steps.back()}, {},
                            {floats("", TensorRole::kGradient, {2})}, {},
                            builder.graph.tensor(steps.back()).producer);
    return std::move(builder.graph);
  };
  std::vector<Graph> graphs;
  for (const int length : {3, 7, 5, 1, 6, 7, 2}) graphs.push_back(sequence(length));
  GraphUnion all(graphs[0]);
  for (std::size_t i = 1; i < graphs.size(); ++i) all.add(graphs[i]);
  const Graph& whole = all.graph();
  CHECK(wrongIn(whole) == "");
  CHECK(whole.nodes().size() == 14);
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    for (const Node& node : graphs[i].nodes()) {
      CAPTURE(i, node.name);
      const NodeId id = all.part(i).nodeAt(node.id.value);
      CHECK(all.part(i).localTensor(whole.node(id).outputs[0]) == node.outputs[0]);
      CHECK(all.part(i).info(whole, whole.node(id).outputs[0]).name == node.name);
      if (node.derivedFrom.valid())
        CHECK(whole.node(id).derivedFrom == all.part(i).nodeAt(node.derivedFrom.value));
    }
    for (const TensorInfo& info : graphs[1].tensors()) {  // the longest: names that this one may not have
      CAPTURE(i, info.name);
      CHECK(all.part(i).find(whole, info.fullName()).valid() ==
            graphs[i].findTensor(info.fullName()).has_value());
    }
  }
}

namespace {

/// Some of the nodes that there might be, in an order of its own, each with inputs and line as drawn.
Graph drawnGraph(std::mt19937_64& random) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
  Made made;
  std::vector<TensorId> all;
  for (int i = draw(1, 3); i > 0; --i) all.push_back(made.source("net/x" + std::to_string(i), {draw(1, 2)}));
  for (int i = draw(0, 12); i > 0; --i) {
    std::vector<TensorId> inputs;
    for (int k = draw(0, 2); k > 0; --k)
      inputs.push_back(all[static_cast<std::size_t>(draw(0, static_cast<int>(all.size()) - 1))]);
    const std::string type(1, static_cast<char>('a' + draw(0, 2)));
    all.push_back(made.node(type, inputs, {draw(1, 2)}, draw(0, 9) ? DType::Float32 : DType::Float16,
                            draw(0, 9) ? 1 : 2, {{"k", std::int64_t{draw(0, 1)}}}));
  }
  const auto count = static_cast<int>(made.graph.nodes().size());
  for (int i = count ? draw(0, 12) : 0; i > 0; --i) {
    const NodeId from(draw(0, count - 1));
    made.graph.addNode("aGrad", "grad/net", Phase::kBackward, made.graph.node(from).outputs,
                       {{"k", std::int64_t{draw(0, 1)}}},
                       {floats("", TensorRole::kGradient, {2}, draw(0, 9) ? DType::Float32 : DType::Float16)},
                       made.graph.node(from).frames, draw(0, 9) ? from : NodeId(), "aten");
  }
  return std::move(made.graph);
}

}  // namespace

TEST_CASE("Of any graphs each is found again in their union, as it was") {
  std::mt19937_64 random(test::drawnSeed("unions"));
  for (int round = 0; round < (test::testAll() ? 2000 : 100); ++round) {
    CAPTURE(round);
    std::vector<Graph> graphs;
    for (int i = std::uniform_int_distribution<>(1, 6)(random); i > 0; --i)
      graphs.push_back(drawnGraph(random));
    GraphUnion all(graphs[0]);
    for (std::size_t i = 1; i < graphs.size(); ++i) all.add(graphs[i]);
    const Graph& whole = all.graph();
    REQUIRE(wrongIn(whole) == "");
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const Graph& graph = graphs[i];
      const GraphPart& part = all.part(i);
      std::set<NodeId> nodes;
      for (const Node& node : graph.nodes()) {
        const NodeId id = part.nodeAt(node.id.value);
        REQUIRE(id.valid());
        CHECK(nodes.insert(id).second);
        const Node& known = whole.node(id);
        CHECK(known.opType == node.opType);
        CHECK((node.phase == Phase::kBackward || known.name.starts_with(node.name)));
        CHECK(part.order(id) == node.id.value);
        CHECK(part.attributes(whole, id) == node.attributes);
        CHECK(graph.userFrame(node.frames)->line == whole.userFrame(known.frames)->line);
        std::vector<TensorId> inputs;
        for (const TensorId input : part.inputs(whole, id)) inputs.push_back(part.localTensor(input));
        CHECK(inputs == node.inputs);
      }
      for (const TensorInfo& info : graph.tensors()) {
        const TensorId id = part.find(whole, info.fullName());
        CHECK(id == part.tensorAt(info.id.value));
        CHECK(part.localTensor(id) == info.id);
        CHECK(part.shape(whole, id) == info.shape);
        CHECK(whole.tensor(id).dtype == info.dtype);
      }
      std::int64_t there = 0;
      for (const TensorInfo& info : whole.tensors()) there += part.has(info.id);
      CHECK(there == part.tensorCount());
    }
  }
}
