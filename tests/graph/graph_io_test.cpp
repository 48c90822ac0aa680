#include "core_engine/graph/graph_io.h"

#include <catch2/catch.hpp>
#include <random>

#include "core_engine/graph/graph_text.h"
#include "core_engine/graph/verify.h"
#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "tests/graph/sample_graph.h"

using namespace msdbg;
using namespace msdbg::core;
using test::sampleGraph;

namespace {

Result<Graph> parse(const std::string& bytes) {
  return parseGraph(std::as_bytes(std::span(bytes)), "graph_0003.pb");
}

void checkDamaged(const std::string& bytes) {
  const Result<Graph> result = parse(bytes);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code() == ErrorCode::kDamaged);
  CHECK(result.error().message().find("graph_0003.pb: ") == 0);
}

/// A graph of real operators: damage reaches their shape inference too.
Graph trainedGraph() {
  Graph g;
  Value x = g.input("x", {2, 3, 8, 8}), label = g.input("label", {2}, DType::Int64);
  {
    auto s = g.scope("conv1");
    x = maxPool(relu(conv(x, {.out = 4, .kernel = 3, .pad = 1})), {.kernel = 2});
  }
  x = flatten(transpose(x, {0, 2, 3, 1}));
  softmaxCrossEntropy(linear(reshape(x, {2, -1}), {.out = 3}), label);
  return g;
}

bool sameTensor(const TensorInfo& a, const TensorInfo& b) {
  return a.id == b.id && a.name == b.name && a.slot == b.slot && a.dtype == b.dtype &&
         a.dtypeNumber == b.dtypeNumber && a.shape == b.shape && a.role == b.role &&
         a.producer == b.producer && a.alias == b.alias && a.gradientOf == b.gradientOf &&
         a.updateOf == b.updateOf && a.replicated == b.replicated && a.trainable == b.trainable &&
         a.initializer == b.initializer && a.frames == b.frames && a.device == b.device;
}
bool sameNode(const Node& a, const Node& b) {
  return a.id == b.id && a.name == b.name && a.opType == b.opType && a.scope == b.scope &&
         a.phase == b.phase && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.attributes == b.attributes && a.frames == b.frames && a.derivedFrom == b.derivedFrom;
}
bool sameKernel(const Kernel& a, const Kernel& b) {
  return a.id == b.id && a.name == b.name && a.nodes == b.nodes;
}

void checkSame(const Graph& a, const Graph& b) {
  CHECK(a.name() == b.name());
  CHECK(a.floatingDType() == b.floatingDType());
  CHECK(a.version() == b.version());
  CHECK(a.modules() == b.modules());
  CHECK(
      std::equal(a.tensors().begin(), a.tensors().end(), b.tensors().begin(), b.tensors().end(), sameTensor));
  CHECK(std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(), sameNode));
  CHECK(std::equal(a.frames().begin(), a.frames().end(), b.frames().begin(), b.frames().end()));
  CHECK(
      std::equal(a.kernels().begin(), a.kernels().end(), b.kernels().begin(), b.kernels().end(), sameKernel));
}

void appendVarint(std::string& bytes, std::uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  bytes += static_cast<char>(value);
}

}  // namespace

TEST_CASE("A graph survives its file, every field of it") {
  for (const Graph& g : {sampleGraph(), trainedGraph(), Graph("empty", DType::Float64)}) {
    const std::string bytes = serializeGraph(g);
    const Result<Graph> read = parse(bytes);
    REQUIRE(read.ok());
    checkSame(*read, g);
    CHECK(serializeGraph(*read) == bytes);
  }
}

TEST_CASE("Devices and the classes of modules survive the file, at no cost where nothing is known") {
  Graph g = sampleGraph();
  const std::string plain = serializeGraph(g);
  for (std::size_t i = 0; i < g.tensors().size(); ++i)
    g.tensor(TensorId(static_cast<std::int64_t>(i))).device = i % 2 ? "cuda:1" : "cpu";
  g.addModule("Net/fc1", "Linear");
  g.addModule("Net", "Net");
  g.addModule("Net", "Other");  // the first one stays
  const Result<Graph> read = parse(serializeGraph(g));
  REQUIRE(read.ok());
  checkSame(*read, g);
  CHECK(read->modules().at("Net") == "Net");
  CHECK(read->tensor(TensorId(1)).device == "cuda:1");
  const Result<Graph> before = parse(plain);
  REQUIRE(before.ok());
  CHECK(before->tensor(TensorId(1)).device.empty());
  CHECK(before->modules().empty());
}

TEST_CASE("Text in a graph may be any bytes") {
  Graph g = sampleGraph();
  g.addFrame({"net\xff.cpp", 1, "f", std::string("a\0\xc3(", 4), false});
  const Result<Graph> read = parse(serializeGraph(g));
  REQUIRE(read.ok());
  checkSame(*read, g);
}

TEST_CASE("The bytes are interned: many nodes of one line cost little each") {
  Graph g;
  Value x = g.input("x", {2});
  for (int i = 0; i < 1000; ++i) x = relu(x);
  CHECK(serializeGraph(g).size() < 100'000);
}

TEST_CASE("A graph file that is cut short is damaged at every length") {
  const std::string bytes = serializeGraph(sampleGraph());
  for (std::size_t length = 0; length < bytes.size(); ++length) checkDamaged(bytes.substr(0, length));
}

TEST_CASE("No flipped byte of a graph file crashes the reader, and what is accepted is valid") {
  std::mt19937 random(5);
  std::int64_t accepted = 0, refused = 0, valid = 0;
  for (const Graph& g : {sampleGraph(), trainedGraph()}) {
    const std::string bytes = serializeGraph(g);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      for (int k = 0; k < 8; ++k) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(random());
        const Result<Graph> result = parse(changed);
        ++(result.ok() ? accepted : refused);
        if (!result.ok()) continue;
        valid += verify(*result).ok();
        graphText(*result);
      }
  }
  CHECK(valid == accepted);
  CHECK(accepted > 0);  // a letter of a source line, say
  CHECK(refused > 0);
}

TEST_CASE("Random bytes are no graph") {
  std::mt19937 random(6);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    CHECK_FALSE(parse(bytes).ok());
  }
  checkDamaged("\x89HDF\r\n\x1a\n and so on");
}

TEST_CASE("Fields of later versions are ignored, a later format is refused") {
  const std::string bytes = serializeGraph(sampleGraph());
  std::string extended = bytes;
  appendVarint(extended, 1000u << 3 | 2);
  appendVarint(extended, 5);
  extended += "later";
  const Result<Graph> read = parse(extended);
  REQUIRE(read.ok());
  checkSame(*read, sampleGraph());
  std::string later = bytes;
  appendVarint(later, 1u << 3);  // format, again: the last one counts
  appendVarint(later, 4);
  const Result<Graph> refused = parse(later);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kUnsupported);
  CHECK(refused.error().message() == "graph_0003.pb: graph format 4 is newer than this msdbg; update msdbg");
}

TEST_CASE(
    "Initial values that older readers do not know make a graph of format 2, and are read as they are") {
  const auto formatOf = [](const Graph& graph) { return serializeGraph(graph)[1]; };  // field 1 comes first
  Graph graph("network");
  graph.parameter("known", {2, 3}, Init::xavierNormal());
  CHECK(formatOf(graph) == 1);
  graph.parameter("even", {2, 3}, Init::uniform(-0.5, 0.25));
  CHECK(formatOf(graph) == 2);
  graph.parameter("cut", {2, 3}, Init::truncatedNormal(0.02));
  const Result<Graph> read = parse(serializeGraph(graph));
  REQUIRE(read.ok());
  for (const TensorInfo& info : graph.tensors()) CHECK(read->tensor(info.id).initializer == info.initializer);
}

namespace {

/// Relu of a float16 input, as a graph that something else recorded; its output has another dtype.
test::Tables foreignTables(DType output, std::int32_t number = 0) {
  test::Tables tables(sampleGraph());
  tables.tensors[0].dtype = DType::Float16;
  tables.tensors[2].dtype = output;
  tables.tensors[2].dtypeNumber = number;
  return tables;
}

}  // namespace

TEST_CASE("A graph of dtypes that nothing is computed in is of format 3, valid, and read as it is") {
  for (const DType dtype : kDTypes) {
    CAPTURE(dtypeName(dtype));
    const Graph graph = foreignTables(dtype).graph();
    const std::string bytes = serializeGraph(graph);
    CHECK(bytes[1] == 3);
    const Result<Graph> read = parse(bytes);
    REQUIRE(read.ok());
    checkSame(*read, graph);
  }
  const Graph half = Graph::fromTables("foreign", DType::BFloat16, 0, {}, {}, {}, {});
  CHECK(parse(serializeGraph(half)).orThrow().floatingDType() == DType::BFloat16);
  CHECK(serializeGraph(sampleGraph())[1] == 1);
}

TEST_CASE("A dtype's number of a later version is no damage, and is kept when the graph is written again") {
  for (const std::int32_t number : {20, 77, 1 << 30, -5}) {
    CAPTURE(number);
    const std::string bytes = serializeGraph(foreignTables(DType::Unsupported, number).graph());
    const Result<Graph> read = parse(bytes);
    REQUIRE(read.ok());
    CHECK(read->tensor(TensorId(2)).dtype == DType::Unsupported);
    CHECK(read->tensor(TensorId(2)).dtypeNumber == number);
    CHECK(serializeGraph(*read) == bytes);
    CHECK_THAT(graphText(*read), Catch::Contains("unsupported[4,6]"));
  }
  checkDamaged(serializeGraph(foreignTables(DType::Unsupported, 0).graph()));  // none at all
}

TEST_CASE("A tensor of an unknown dtype whose extents overflow is damage") {
  test::Tables tables = foreignTables(DType::Unsupported, 77);
  tables.tensors[2].shape = Shape{std::int64_t{1} << 40, std::int64_t{1} << 40};
  checkDamaged(serializeGraph(tables.graph()));
}

TEST_CASE("A small file cannot make the reader allocate millions of objects") {
  std::string bytes = serializeGraph(sampleGraph());
  for (int i = 0; i < 5'000'000; ++i) bytes += std::string_view("\x3a\x00", 2);  // empty tensors
  checkDamaged(bytes);
}

TEST_CASE("A graph whose nodes contradict each other is damaged, and the message names the node") {
  test::Tables tables(sampleGraph());
  tables.nodes[1].inputs[0] = TensorId(5);
  const Result<Graph> result = parse(serializeGraph(tables.graph()));
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code() == ErrorCode::kDamaged);
  CHECK(result.error().message().find("node network/Fork-op1 reads network/Mystery-op1:0") !=
        std::string::npos);
}
