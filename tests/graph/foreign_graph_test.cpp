// What graphs of other frameworks hold besides ours, through graph.pb and back.
#include <catch2/catch.hpp>
#include <limits>

#include "core_engine/graph/graph_io.h"
#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/verify.h"

using namespace msdbg::core;

namespace {

TensorInfo floats(std::string name, TensorRole role) {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = {2};
  info.role = role;
  return info;
}

Graph foreignGraph() {
  Graph graph("net");
  TensorInfo constant = floats("net/scale", TensorRole::kConstant);
  constant.value = Tensor::of<float>({2}, std::span<const float>(std::array{0.5F, -0.0F}));
  const TensorId x = graph.addSource(floats("net/x", TensorRole::kInput)), c = graph.addSource(constant);
  graph.addNode(
      "foo.Tensor", "net", Phase::kForward, {x, c},
      {{"flag", true},
       {"none", false},
       {"numbers", std::vector<double>{0.25, std::numeric_limits<double>::infinity()}},
       {"texts", std::vector<std::string>{"a", "", "a"}},
       {"empty", std::vector<std::string>{}},
       {"mask", TensorValue{Tensor::of<bool>({2}, std::span<const bool>(std::array{true, false}))}}},
      {floats("", TensorRole::kActivation)}, {}, {}, "aten");
  return graph;
}

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("Domain, attributes of every kind and constants come back from graph.pb as they were") {
  const Graph graph = foreignGraph();
  const std::string bytes = serializeGraph(graph);
  const Result<Graph> read = parseGraph(bytesOf(bytes), "graph.pb");
  REQUIRE(read.ok());
  const Node& node = read->nodes()[0];
  CHECK(node.domain == "aten");
  CHECK_FALSE(node.isOwn());
  CHECK(node.attributes == graph.nodes()[0].attributes);
  const Tensor& value = read->tensor(TensorId(1)).value;
  REQUIRE(value.valid());
  CHECK(TensorValue{value} == TensorValue{graph.tensor(TensorId(1)).value});
  CHECK_FALSE(read->tensor(TensorId(0)).value.valid());
  CHECK(serializeGraph(*read) == bytes);
  CHECK(bytes[1] == 3);  // older readers refuse it instead of taking it for ours
  CHECK_THAT(graphText(graph), Catch::Contains("aten.foo.Tensor(") && Catch::Contains("flag=true") &&
                                   Catch::Contains("mask=bool[2]") &&
                                   Catch::Contains(R"(texts=["a","","a"])"));
}

TEST_CASE("What only ours has is still written as of old") {
  Graph graph("net");
  const TensorId x = graph.addSource(floats("net/x", TensorRole::kInput));
  graph.addNode("Relu", "net", Phase::kForward, {x}, {}, {floats("", TensorRole::kActivation)}, {});
  CHECK(serializeGraph(graph)[1] == 1);
  const Result<Graph> read = parseGraph(bytesOf(serializeGraph(graph)), "graph.pb");
  REQUIRE(read.ok());
  CHECK(read->nodes()[0].isOwn());
}

TEST_CASE("A constant whose bytes are not what its shape says is damage") {
  std::string bytes = serializeGraph(foreignGraph());
  const std::size_t at = bytes.find(std::string("\0\0\0\x3f\0\0\0\x80", 8));
  REQUIRE(at != std::string::npos);
  REQUIRE(bytes[at - 3] == 4);  // the shape's one extent, as sint64: 2
  bytes[at - 3] = 6;            // 3
  const Result<Graph> read = parseGraph(bytesOf(bytes), "graph.pb");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code() == ErrorCode::kDamaged);
  CHECK_THAT(read.error().message(), Catch::Contains("the value of net/scale has 8 bytes"));
}

TEST_CASE("A constant without elements comes back; one of extents that overflow is damage") {
  const auto graphOf = [](Shape shape) {
    Graph graph("net");
    TensorInfo constant = floats("net/none", TensorRole::kConstant);
    constant.shape = shape;
    constant.value = Tensor(DType::Float32, std::move(shape));
    graph.addSource(constant);
    return serializeGraph(graph);
  };
  const Result<Graph> read = parseGraph(bytesOf(graphOf({3, 0, 2})), "graph.pb");
  REQUIRE(read.ok());
  CHECK(read->tensor(TensorId(0)).value.shape() == Shape{3, 0, 2});

  const std::string whole = graphOf({0, std::int64_t{1} << 40, 1});
  const Result<Graph> huge = parseGraph(bytesOf(whole), "graph.pb");
  REQUIRE_FALSE(huge.ok());
  CHECK(huge.error().code() == ErrorCode::kDamaged);
}
