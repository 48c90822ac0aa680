#include "replay/search.h"

#include <catch2/catch.hpp>

#include "tests/replay/search_graph.h"

using namespace msdbg::core;
using namespace msdbg::replay;

namespace {

using Names = std::vector<std::string>;

Names found(const std::string& query) {
  const Graph graph = msdbg::test::searchGraph();
  const Result<SearchResult> result = search(graph, query);
  if (!result) FAIL(result.error().message());
  Names names;
  for (NodeId id : result->nodes) names.push_back(graph.node(id).name);
  return names;
}

std::string errorOf(const std::string& query, ErrorCode code) {
  const Result<SearchResult> result = search(msdbg::test::searchGraph(), query);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code() == code);
  return result.error().message();
}

TensorInfo pairOf(TensorRole role, std::string name) {
  TensorInfo info;
  info.shape = {2};
  info.name = std::move(name);
  info.role = role;
  return info;
}

const Names kLine52 = {"network/conv1/Conv-op1", "grad/network/conv1/ConvGradWeight-op1",
                       "grad/network/conv1/Allreduce-op1", "update/network/conv1/SgdUpdate-op1"};

}  // namespace

TEST_CASE("A line gives its forward nodes and what is derived from them, and never line 520") {
  CHECK(found("alexnet.cpp:52") == kLine52);
  CHECK(found("models/alexnet.cpp:52") == kLine52);
  CHECK(found("core_engine/models/alexnet.cpp:52") == kLine52);
  CHECK(found("alexnet.cpp:520") == Names{"network/pool/MaxPool-op1"});
}

TEST_CASE("The line of a scope finds what was built inside it") {
  CHECK(found("alexnet.cpp:50") ==
        Names{kLine52[0], "network/conv1/Relu-op1", kLine52[1], kLine52[2], kLine52[3]});
}

TEST_CASE("A range includes both ends; a file without a line gives all its nodes") {
  CHECK(found("alexnet.cpp:53-60") == Names{"network/conv1/Relu-op1"});
  CHECK(found("alexnet.cpp:60-520") == Names{"network/conv1/Relu-op1", "network/pool/MaxPool-op1"});
  CHECK(found("user/net.cpp") == Names{"network/tail/Add-op1"});
}

TEST_CASE("A line without nodes names the nearest lines that have some") {
  const Result<SearchResult> result = search(msdbg::test::searchGraph(), "alexnet.cpp:55");
  REQUIRE(result.ok());
  CHECK(result->nodes.empty());
  CHECK(result->file == "core_engine/models/alexnet.cpp");
  CHECK(result->nearestLines == std::vector<std::int32_t>{50, 52, 60, 520});
  CHECK(search(msdbg::test::searchGraph(), "alexnet.cpp:9999")->nearestLines ==
        std::vector<std::int32_t>{60, 520});
}

TEST_CASE("A file is a path suffix at a '/' border; ambiguous and unknown ones are named") {
  const std::string ambiguous = errorOf("net.cpp:52", ErrorCode::kUsage);
  CHECK(ambiguous.find("old/net.cpp or user/net.cpp") != std::string::npos);
  CHECK(found("old/net.cpp:52") == Names{"network/tail/Add-op2"});
  CHECK(errorOf("alexnt.cpp:52", ErrorCode::kNotFound).find("alexnet.cpp") != std::string::npos);
  CHECK(errorOf("xnet.cpp:52", ErrorCode::kNotFound).find("no source file") == 0);
}

TEST_CASE("A bad line or range is a usage error") {
  for (const std::string query :
       {"alexnet.cpp:", "alexnet.cpp:0", "alexnet.cpp:x", "alexnet.cpp:52-", "alexnet.cpp:55-50",
        "alexnet.cpp:-5", "alexnet.cpp:99999999999", "alexnet.cpp:52 "}) {
    CAPTURE(query);
    CHECK(errorOf(query, ErrorCode::kUsage).find("is no line or range") != std::string::npos);
  }
}

TEST_CASE("Text finds names, aliases, suffixes, globs, operator types and parts of names") {
  CHECK(found("network/conv1/Relu-op1") == Names{"network/conv1/Relu-op1"});
  CHECK(found("conv1/Relu-op1") == Names{"network/conv1/Relu-op1"});
  CHECK(found("network/conv1/Relu-op1:0") == Names{"network/conv1/Relu-op1"});
  CHECK(found("grad(network/conv1/weight)") == Names{"grad/network/conv1/Allreduce-op1"});
  CHECK(found("network/conv1/weight") ==
        Names{"network/conv1/Conv-op1", "update/network/conv1/SgdUpdate-op1"});
  CHECK(found("add") == Names{"network/tail/Add-op1", "network/tail/Add-op2"});
  CHECK(found("network/*/Add-op?") == Names{"network/tail/Add-op1", "network/tail/Add-op2"});
  CHECK(found("Pool") == Names{"network/pool/MaxPool-op1"});
  CHECK(found("CONV") == Names{"network/conv1/Conv-op1"});
  CHECK(errorOf("Rellu", ErrorCode::kNotFound).find("Relu") != std::string::npos);
  CHECK(errorOf("", ErrorCode::kNotFound).find("nothing") == 0);
}

TEST_CASE("An operator of another framework is found by its type, with and without overload and domain") {
  Graph graph("net");
  const TensorId x = graph.addSource(pairOf(TensorRole::kInput, "net/x"));
  const TensorInfo info = pairOf(TensorRole::kActivation, "net/x");
  const auto add = [&](const char* type, const char* domain) {
    return graph.addNode(type, "net", Phase::kForward, {x}, {}, {info}, {}, {}, domain);
  };
  const NodeId theirs = add("div.Tensor", "aten"), other = add("add.Tensor", "aten"),
               inPlace = add("div_.Scalar", "aten"), ours = add("Div", "msdbg");
  const auto nodes = [&](const std::string& query) { return search(graph, query).value().nodes; };
  CHECK(nodes("div") == std::vector{theirs, inPlace, ours});
  CHECK(nodes("div.Tensor") == std::vector{theirs});
  CHECK(nodes("aten.div") == std::vector{theirs, inPlace});
  CHECK(nodes("aten.add.tensor") == std::vector{other});
}

TEST_CASE("What a program calls by another name is found by the class of its module or by its line") {
  Graph graph("net");
  const TensorId x = graph.addSource(pairOf(TensorRole::kInput, "net/x"));
  const TensorInfo info = pairOf(TensorRole::kActivation, "net/x");
  const FrameId line =
      graph.addFrame({"train.py", 7, "main", "loss = F.cross_entropy(logits, labels)", false});
  const auto add = [&](const char* type, const char* scope, Phase phase, std::vector<FrameId> frames) {
    return graph.addNode(type, scope, phase, {x}, {}, {info}, std::move(frames), {}, "aten");
  };
  const NodeId layer = add("convolution", "net/0", Phase::kForward, {}),
               gradient = add("convolution_backward", "grad/net/0", Phase::kBackward, {}),
               deeper = add("mul", "net/0/scale", Phase::kForward, {}),
               other = add("convolution", "net/01", Phase::kForward, {}),
               loss = add("nll_loss_forward", "main", Phase::kForward, {line});
  graph.addModule("net/0", "Conv2d");
  const auto nodes = [&](const std::string& query) { return search(graph, query).value().nodes; };
  CHECK(nodes("conv2d") == std::vector{layer, gradient, deeper});
  CHECK(nodes("convolution") == std::vector{layer, other});
  CHECK(nodes("cross_entropy") == std::vector{loss});
}

TEST_CASE("A source that nothing reads is said to be one") {
  Graph graph("net");
  graph.addSource(pairOf(TensorRole::kInput, "net/clean"));
  const auto found = search(graph, "clean");
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().message().find("no node reads net/clean") != std::string::npos);
}
