// Which node of one graph is which of another, where programs were renamed or changed.
#include "replay/diff/align.h"

#include <catch2/catch.hpp>
#include <map>

#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"

using namespace msdbg;
using namespace msdbg::core;
using replay::Alignment;
using replay::GraphSide;

namespace {

void layer(Graph& g, Value& x, const std::string& name, std::int64_t out) {
  const auto scope = g.scope(name);
  x = relu(linear(x, {.out = out}));
}

/// Three layers; "" leaves one out.
Graph network(const std::vector<std::pair<std::string, std::int64_t>>& layers,
              const std::string& name = "network") {
  Graph g(name);
  Value x = g.input("x", {4, 8});
  for (const auto& [scope, out] : layers) layer(g, x, scope, out);
  return g;
}

std::map<std::string, std::string> partners(const Graph& a, const Graph& b) {
  std::map<std::string, std::string> names;
  for (const auto& each : replay::align(GraphSide(a), GraphSide(b)).nodes)
    names[a.node(each.a).name] = b.node(each.b).name;
  return names;
}

}  // namespace

TEST_CASE("A graph is aligned with itself by name, all of it") {
  const Graph g = network({{"a", 6}, {"b", 5}});
  const Alignment found = replay::align(GraphSide(g), GraphSide(Graph(g)));
  CHECK(found.nodes.size() == g.nodes().size());
  CHECK(found.tensors.size() == g.tensors().size());
  for (const auto& each : found.nodes) {
    CHECK(each.a == each.b);
    CHECK(each.by == replay::AlignedBy::kName);
  }
  for (const auto& each : found.tensors) CHECK(each.sameType);
}

TEST_CASE("Renamed scopes and networks are found by what they read") {
  const Graph a = network({{"a", 6}, {"b", 5}, {"c", 3}});
  const Graph b = network({{"first", 6}, {"second", 5}, {"third", 3}}, "model");
  const auto names = partners(a, b);
  CHECK(names.at("network/a/Gemm-op1") == "model/first/Gemm-op1");
  CHECK(names.at("network/b/Relu-op1") == "model/second/Relu-op1");
  CHECK(names.at("network/c/Relu-op1") == "model/third/Relu-op1");
  CHECK(replay::align(GraphSide(a), GraphSide(b)).sourcesOnlyA.empty());
}

TEST_CASE("A name that both have says more than a type: a layer that grew is the same layer") {
  const auto names = partners(network({{"a", 6}, {"b", 5}}), network({{"a", 5}, {"b", 6}}));
  CHECK(names.at("network/a/Gemm-op1") == "network/a/Gemm-op1");
  CHECK(names.at("network/b/Gemm-op1") == "network/b/Gemm-op1");
}

TEST_CASE("An inserted layer is only in the one graph, and all else keeps its partner") {
  const Graph a = network({{"a", 6}, {"c", 3}}), b = network({{"a", 6}, {"new", 6}, {"c", 3}});
  const Alignment found = replay::align(GraphSide(a), GraphSide(b));
  CHECK(found.onlyA.empty());
  std::vector<std::string> added;
  for (const NodeId id : found.onlyB) added.push_back(b.node(id).name);
  CHECK(added == std::vector<std::string>{"network/new/Gemm-op1", "network/new/Relu-op1"});
  CHECK(partners(a, b).at("network/c/Gemm-op1") == "network/c/Gemm-op1");
}

TEST_CASE(
    "An operator that was put before others of its kind in one scope shifts their numbers, not their "
    "partners") {
  const auto build = [](bool more) {
    Graph g;
    const auto scope = g.scope("s");
    Value x = g.input("x", {4, 8});
    if (more) x = tanh(x);
    x = relu(x);
    if (more) x = tanh(x);
    tanh(exp(x));
    return g;
  };
  const Graph a = build(false), b = build(true);
  const auto names = partners(a, b);
  CHECK(names.at("network/s/Exp-op1") == "network/s/Exp-op1");
  CHECK(names.at("network/s/Tanh-op1") == "network/s/Tanh-op3");
}

TEST_CASE("Other batch sizes leave names what they are, and say that the types differ") {
  const auto build = [](std::int64_t rows) {
    Graph g;
    Value x = g.input("x", {rows, 8});
    layer(g, x, "a", 5);
    return g;
  };
  const Graph a = build(4), b = build(2);
  const Alignment found = replay::align(GraphSide(a), GraphSide(b));
  CHECK(found.nodes.size() == a.nodes().size());
  for (const auto& each : found.tensors)
    CHECK(each.sameType == (a.tensor(each.a).role == TensorRole::kParameter));
}

TEST_CASE("Nothing is aligned with an empty graph") {
  const Graph a = network({{"a", 6}}), b;
  CHECK(replay::align(GraphSide(a), GraphSide(b)).onlyA.size() == a.nodes().size());
  CHECK(replay::align(GraphSide(b), GraphSide(a)).onlyB.size() == a.nodes().size());
}

TEST_CASE("Names lose their numbers, and nothing else") {
  CHECK(replay::withoutCounts("network/conv1/Conv-op12:0") == "network/conv1/Conv:0");
  CHECK(replay::withoutCounts("a-op/b-op1/c@2/d@x") == "a-op/b/c/d@x");
  CHECK(replay::withoutCounts("") == "");
}
