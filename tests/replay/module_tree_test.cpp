// The modules of a network, from the names of what it has.
#include <catch2/catch.hpp>

#include "replay/modules.h"
#include "tests/support/module_graph.h"
#include "tests/watchpoints/small_graph.h"

using namespace msdbg;
using replay::ModuleTree;

namespace {

std::vector<std::string> namesOf(const ModuleTree& tree, const std::vector<int>& modules) {
  std::vector<std::string> names;
  for (const int module : modules) names.push_back(tree.at(module).name);
  return names;
}

}  // namespace

TEST_CASE("ModuleTree has the modules of a program, in order, with classes, numbers and devices") {
  const test::ModuleGraph made;
  const ModuleTree tree(made.graph);
  REQUIRE(namesOf(tree, tree.roots()) == std::vector<std::string>{"Net"});  // main and augment are none
  const replay::Module& list = tree.at(tree.find("Net/layers"));
  CHECK(list.className == "Sequential");
  CHECK(namesOf(tree, list.children) == std::vector<std::string>{"0", "1", "2", "10"});
  CHECK(list.trainable == 64 + 8 + 24);
  CHECK(list.others == 3);
  CHECK(list.devices == std::vector<std::string>{"cuda:0", "cuda:1"});
  const replay::Module& head = tree.at(tree.find("Net/layers/2"));
  CHECK(head.parameters.size() == 2);
  CHECK(head.devices == std::vector<std::string>{"cuda:1"});
  CHECK(tree.at(tree.find("Net/layers/10")).className == "Dropout");
  CHECK(tree.find("main") == -1);
}

TEST_CASE("Nodes of all passes and calls, and their tensors, belong to their module") {
  const test::ModuleGraph made;
  const ModuleTree tree(made.graph);
  const auto moduleOf = [&](const char* node) { return tree.of(made.named(node)); };
  const int first = tree.find("Net/layers/0");
  CHECK(moduleOf("Net/layers/0/aten.addmm-op1") == first);
  CHECK(moduleOf("grad/Net/layers/0/aten.mm-op1") == first);
  CHECK(moduleOf("update/Net/layers/0/AdamW-op1") == first);
  CHECK(moduleOf("Net/layers/1#2/aten.relu-op1") == tree.find("Net/layers/1"));
  CHECK(moduleOf("Net/augment/aten.mul-op1") == tree.find("Net"));
  CHECK(moduleOf("main/aten.nll_loss-op1") == -1);
  CHECK(tree.of(made.weight()) == first);
  CHECK(tree.at(tree.find("Net/layers/1")).nodes.size() == 2);
  const std::vector<core::NodeId> below = tree.nodesBelow(tree.find("Net/layers"));
  CHECK(below.size() == 4);
  CHECK(std::ranges::is_sorted(below));
  CHECK(tree.isBelow(first, tree.find("Net")));
  CHECK_FALSE(tree.isBelow(tree.find("Net"), first));
}

TEST_CASE("Where a run says nothing of modules, its scopes are they") {
  const core::Graph graph = test::modelGraph();
  const ModuleTree tree(graph);
  const int fc = tree.find("network/fc");
  REQUIRE(fc >= 0);
  CHECK(tree.at(fc).className.empty());
  CHECK_FALSE(tree.at(fc).parameters.empty());
  CHECK(tree.of(graph.findNode("network/fc/Gemm-op1").value()) == fc);
  CHECK(tree.at(tree.find("network")).trainable == tree.at(fc).trainable);
}

TEST_CASE("A module of which only parameters were recorded has the nodes of the other passes") {
  core::Graph graph("network");
  core::TensorInfo weight;
  weight.name = "Net/fc/weight";
  weight.role = core::TensorRole::kParameter;
  weight.shape = core::Shape{2};
  const core::TensorId id = graph.addSource(weight);
  core::TensorInfo gradient;
  gradient.role = core::TensorRole::kGradient;
  gradient.shape = core::Shape{2};
  const core::NodeId node = graph.addNode("AccumulateGrad", "grad/Net/fc", core::Phase::kBackward, {id}, {},
                                          {gradient}, {}, {}, "autograd");
  const ModuleTree tree(graph);
  CHECK(tree.nodesBelow(tree.find("Net")) == std::vector{node});
}

TEST_CASE("plainScope says which module a scope is of") {
  CHECK(replay::plainScope("grad/GPT/h#2/0/attn") == "GPT/h/0/attn");
  CHECK(replay::plainScope("update/Net/fc1#3") == "Net/fc1");
  CHECK(replay::plainScope("Net/grad/c#") == "Net/grad/c#");
  CHECK(replay::plainScope("") == "");
}
