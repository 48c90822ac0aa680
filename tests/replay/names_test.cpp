#include <catch2/catch.hpp>

#include "replay/run.h"
#include "tests/replay/search_graph.h"

using namespace msdbg::core;
using namespace msdbg::replay;

namespace {

std::string tensor(const std::string& name) {
  const Graph graph = msdbg::test::searchGraph();
  const Result<TensorId> id = resolveTensor(graph, name);
  return id ? graph.tensor(*id).fullName() : id.error().message();
}

std::size_t count(const std::string& name) {
  return resolveTensors(msdbg::test::searchGraph(), name)->size();
}

}  // namespace

TEST_CASE("A tensor is named in full, by alias, by a unique suffix, or by its node for slot 0") {
  CHECK(tensor("network/pool/MaxPool-op1:1") == "network/pool/MaxPool-op1:1");
  CHECK(tensor("network/pool/MaxPool-op1") == "network/pool/MaxPool-op1:0");
  CHECK(tensor("MaxPool-op1") == "network/pool/MaxPool-op1:0");
  CHECK(tensor("MaxPool-op1:1") == "network/pool/MaxPool-op1:1");
  CHECK(tensor("conv1/weight") == "network/conv1/weight:0");
  CHECK(tensor("weight") == "network/conv1/weight:0");
  CHECK(tensor("grad(network/conv1/weight)") == "grad/network/conv1/Allreduce-op1:0");
  CHECK(tensor("grad(conv1/weight)") == "grad/network/conv1/Allreduce-op1:0");
  CHECK(tensor("next(weight)") == "update/network/conv1/SgdUpdate-op1:0");
}

TEST_CASE("The loss is named so whatever its operator is called") {
  Graph graph = msdbg::test::searchGraph();
  CHECK(resolveTensor(graph, "loss").error().code() == ErrorCode::kNotFound);
  const TensorId pooled = *graph.findTensor("network/pool/MaxPool-op1");
  graph.tensor(pooled).role = TensorRole::kLoss;
  CHECK(*resolveTensor(graph, "loss") == pooled);
}

TEST_CASE("A suffix means the operator of the forward pass before those that are derived from it") {
  Graph graph("network");
  TensorInfo values;
  values.name = "x";
  values.shape = {2};
  const TensorId x = graph.addSource(values);
  const auto node = [&](const char* scope, Phase phase) {
    return graph.addNode("Relu", scope, phase, {x}, {}, {values}, {});
  };
  const NodeId forward = node("network/fc", Phase::kForward);
  node("grad/network/fc", Phase::kBackward);
  CHECK(*resolveTensor(graph, "fc/Relu-op1") == graph.node(forward).outputs[0]);
  CHECK(resolveNodes(graph, "fc/Relu-op1").value() == std::vector{forward});
  CHECK(resolveTensors(graph, "*fc/Relu-op1")->size() == 2);
  node("network/other/fc", Phase::kForward);
  CHECK(resolveTensor(graph, "fc/Relu-op1").error().code() == ErrorCode::kUsage);
  CHECK(resolveNodes(graph, "fc/Relu-op1").error().code() == ErrorCode::kUsage);
}

TEST_CASE("A suffix begins at a '/' border") {
  CHECK(tensor("v1/weight").find("no tensor is named 'v1/weight'") == 0);
  CHECK(tensor("eight").find("no tensor") == 0);
}

TEST_CASE("Unknown names list the nearest, ambiguous ones the candidates") {
  CHECK(tensor("conv1/wieght").find("conv1/weight") != std::string::npos);
  const Graph graph = msdbg::test::searchGraph();
  CHECK(resolveTensor(graph, "conv1/wieght").error().code() == ErrorCode::kNotFound);
  CHECK(resolveTensor(graph, "*Add*").error().code() == ErrorCode::kUsage);
  CHECK(resolveTensor(graph, "*Add*")
            .error()
            .message()
            .find("network/tail/Add-op1:0, network/tail/Add-op2:0") != std::string::npos);
  CHECK(resolveTensors(graph, "nothing*").error().code() == ErrorCode::kNotFound);
}

TEST_CASE("A glob crosses '/' and takes every slot") {
  CHECK(count("*MaxPool*") == 2);
  CHECK(count("*/MaxPool-op?") == 2);
  CHECK(count("network/conv1/*") == 3);
  CHECK(count("*") == msdbg::test::searchGraph().tensors().size());
}

TEST_CASE("Nodes are named in full, by a unique suffix or by a glob") {
  const Graph graph = msdbg::test::searchGraph();
  const auto name = [&](const std::string& text) {
    return graph.node(resolveNodes(graph, text)->front()).name;
  };
  CHECK(name("network/conv1/Conv-op1") == "network/conv1/Conv-op1");
  CHECK(name("Conv-op1") == "network/conv1/Conv-op1");
  CHECK(resolveNodes(graph, "*conv1*")->size() == 5);
  CHECK(resolveNodes(graph, "Conv-op2").error().message().find("Conv-op1") != std::string::npos);
  CHECK(resolveNodes(graph, "Conv-op2").error().code() == ErrorCode::kNotFound);
}
