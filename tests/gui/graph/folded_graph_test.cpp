#include "graph_view/model/folded_graph.h"

#include <catch2/catch.hpp>
#include <map>
#include <queue>

#include "graph_view/model/box_text.h"
#include "tests/gui/graph/graphs.h"

using namespace msdbg;
using namespace msdbg::graphview;
using core::NodeId;

namespace {

std::string nameOf(const FoldedGraph& folded, const Item& item) {
  if (item.isScope()) return folded.scope(item.scope()).path + "/";
  if (item.isNode()) return folded.graph().node(item.node()).name;
  if (item.isInput()) return folded.graph().tensor(item.input()).name;
  return item.kind == Item::Kind::kEntry ? "(entry)" : "(exit)";
}

std::vector<std::string> childrenOf(const FoldedGraph& folded, const std::string& path) {
  std::vector<std::string> names;
  for (const Item& item : folded.scope(folded.findScope(path)).children)
    names.push_back(nameOf(folded, item));
  return names;
}

// from -> to: tensors
using Edges = std::map<std::pair<std::string, std::string>, std::set<std::string>>;
Edges edgesOf(const FoldedGraph& folded, ScopeId scope) {
  const ScopeContents& contents = folded.contents(scope);
  Edges edges;
  for (const Edge& edge : contents.edges) {
    auto& names = edges[{nameOf(folded, contents.items[static_cast<std::size_t>(edge.from)]),
                         nameOf(folded, contents.items[static_cast<std::size_t>(edge.to)])}];
    for (const core::TensorId tensor : edge.tensors) names.insert(folded.graph().tensor(tensor).fullName());
  }
  return edges;
}

// By names alone: the child of `scope` that a node's name leads into; "" when it is not inside.
std::string childByName(const FoldedGraph& folded, const ScopeInfo& scope, const std::string& node) {
  for (const Item& item : scope.children) {
    const std::string name = nameOf(folded, item);
    if (item.isScope() ? node.starts_with(name) : item.isNode() && node == name) return name;
  }
  return "";
}

NodeId find(const core::Graph& graph, const std::string& name) { return graph.findNode(name).value(); }

}  // namespace

TEST_CASE("Scopes are a tree by the names of nodes; runs of scopes with nothing else are one",
          "[graph_view]") {
  const FoldedGraph folded(test::foldableGraph());
  CHECK(childrenOf(folded, "") == std::vector<std::string>{"network/", "grad/network/", "update/network/a/"});
  CHECK(childrenOf(folded, "network") ==
        std::vector<std::string>{"network/x", "network/a/", "network/b/", "network/Loss-op1"});
  CHECK(childrenOf(folded, "grad/network") ==
        std::vector<std::string>{"grad/network/LossGrad-op1", "grad/network/a/"});
  CHECK(folded.scope(folded.findScope("grad/network")).label == "grad/network");
  CHECK(folded.scope(folded.findScope("grad/network/a")).label == "a");
  CHECK(folded.scope(folded.root()).nodeCount == 9);
  CHECK(folded.scope(folded.findScope("grad/network/a")).phases[2] == 2);
  CHECK(folded.scope(folded.findScope("grad/network/a")).phases[4] == 1);
  CHECK_FALSE(folded.findScope("grad").valid());
}

TEST_CASE("A folded scope stands for everything inside it", "[graph_view]") {
  FoldedGraph folded(test::foldableGraph());
  const NodeId conv = find(folded.graph(), "network/a/Conv-op1");
  const ScopeId network = folded.findScope("network"), a = folded.findScope("network/a");
  CHECK(folded.visible(conv) == Item::of(network));
  CHECK(folded.setExpanded(network, true));
  CHECK_FALSE(folded.setExpanded(network, true));
  CHECK(folded.visible(conv) == Item::of(a));
  CHECK(folded.isVisible(Item::of(a)));
  CHECK_FALSE(folded.isVisible(Item::of(conv)));
  CHECK(folded.expandTo(Item::of(conv)));
  CHECK(folded.visible(conv) == Item::of(conv));
  CHECK(folded.setExpanded(network, false));
  CHECK(folded.visible(conv) == Item::of(network));  // although `a` itself is still open
  CHECK(folded.collapseAll(folded.root()));
  CHECK(folded.expanded().empty());
  CHECK(folded.expandAll(folded.root()));
  for (const core::Node& node : folded.graph().nodes()) CHECK(folded.visible(node.id) == Item::of(node.id));
  CHECK_FALSE(folded.setExpanded(folded.root(), false));
}

TEST_CASE("An open scope shows the tensors that flow among its children and across its border",
          "[graph_view]") {
  const FoldedGraph folded(test::foldableGraph());
  CHECK(edgesOf(folded, folded.findScope("network")) ==
        Edges{{{"network/x", "network/a/"}, {"network/x:0"}},
              {{"network/a/", "network/b/"}, {"network/a/Relu-op1:0"}},
              {{"network/b/", "network/Loss-op1"}, {"network/b/Gemm-op1:0"}}});
  CHECK(edgesOf(folded, folded.findScope("network/a")) ==
        Edges{{{"(entry)", "network/a/Conv-op1"}, {"network/x:0"}},
              {{"network/a/Conv-op1", "network/a/Relu-op1"}, {"network/a/Conv-op1:0"}},
              {{"network/a/Relu-op1", "(exit)"}, {"network/a/Relu-op1:0"}}});
  const Edges parts = edgesOf(folded, folded.root());
  CHECK(parts.at({"network/", "grad/network/"}) ==
        std::set<std::string>{"network/Loss-op1:0", "network/a/Relu-op1:0"});
  CHECK(parts.at({"grad/network/", "update/network/a/"}).size() == 1);
  CHECK(parts.size() == 2);
  for (const Edge& edge : folded.contents(folded.root()).edges) CHECK(edge.acrossFlows);
}

TEST_CASE("Every tensor that passes from one child to another is on exactly their edge", "[graph_view]") {
  const auto graph = GENERATE(test::foldableGraph(), test::wideGraph(60));
  const FoldedGraph folded(graph);
  for (const ScopeInfo& scope : folded.scopes()) {
    Edges expected;
    for (const core::Node& node : graph->nodes()) {
      const std::string to = childByName(folded, scope, node.name);
      if (to.empty()) continue;
      for (const core::TensorId input : node.inputs) {
        const core::TensorInfo& tensor = graph->tensor(input);
        if (!tensor.producer.valid()) continue;
        const std::string from = childByName(folded, scope, graph->node(tensor.producer).name);
        if (!from.empty() && from != to) expected[{from, to}].insert(tensor.fullName());
      }
    }
    Edges shown = edgesOf(folded, scope.id);
    std::erase_if(shown, [](const auto& edge) {
      const auto& [from, to] = edge.first;
      return from == "(entry)" || to == "(exit)" || from == "network/x";
    });
    CHECK(shown == expected);
  }
}

TEST_CASE("Parameters, states and values of other phases are lines of the node that reads them",
          "[graph_view]") {
  const FoldedGraph folded(test::foldableGraph());
  const auto linesOf = [&](const std::string& node) {
    std::vector<std::string> names;
    for (const auto& [name, value] : boxText(folded, Item::of(find(folded.graph(), node))).lines)
      names.push_back(name + " " + value);
    return names;
  };
  CHECK(linesOf("network/a/Conv-op1") == std::vector<std::string>{"weight 4×4"});
  CHECK(linesOf("grad/network/a/ReluGrad-op1") == std::vector<std::string>{"Relu-op1 8×16"});
  CHECK(linesOf("grad/network/a/ConvGradWeight-op1") == std::vector<std::string>{"x 4×4"});
  CHECK(linesOf("update/network/a/SgdUpdate-op1") ==
        std::vector<std::string>{"weight 4×4", "Allreduce-op1 8×16", "learning_rate 4×4", "→ 8×16"});
  CHECK(boxText(folded, Item::of(folded.findScope("network/a"))).note == "Conv, Relu");
  CHECK(shortName("momentum(network/conv1/weight)") == "momentum(weight)");
  CHECK(shapeText({}) == "scalar");
  CHECK(shapeText({-1, 3}) == "?×3");
  CHECK(
      tooltip(folded, Item::of(find(folded.graph(), "network/a/Relu-op1"))).find("fused:ConvRelu covers 2") !=
      std::string::npos);
}

TEST_CASE("Lines of a box that would be equal keep the scopes in which they differ", "[graph_view]") {
  auto graph = std::make_shared<core::Graph>();
  std::vector<core::TensorId> weights;
  for (const char* scope : {"network/stage1/block1", "network/stage1/block2", "network/stage2/block1"})
    weights.push_back(
        test::addSourceOf(*graph, std::string(scope) + "/conv/weight", core::TensorRole::kParameter));
  weights.push_back(test::addSourceOf(*graph, "network/head/bias", core::TensorRole::kParameter));
  graph->setAlias(weights[0], "grad(network/stage1/block1/conv/weight)");
  graph->setAlias(weights[1], "grad(network/stage1/block2/conv/weight)");
  const auto norm = test::addOp(*graph, "Norm", "network", weights);
  const FoldedGraph folded(graph);
  std::vector<std::string> names;
  for (const auto& [name, shape] : boxText(folded, Item::of(graph->tensor(norm).producer)).lines)
    names.push_back(name);
  names.resize(4);
  CHECK(names ==
        std::vector<std::string>{"grad(block1/conv/weight)", "grad(block2/conv/weight)", "weight", "bias"});
  CHECK(sharedScope({"network/a/weight", "network/b/weight"}) == 8);
  CHECK(sharedScope({"network/a/weight"}) == 0);
  CHECK(sharedScope({"network/a", "network/a/b"}) == 8);
  CHECK(sharedScope({"a", "b"}) == 0);
}

TEST_CASE("Kernels are shown where they cover several nodes of one open scope", "[graph_view]") {
  const FoldedGraph folded(test::foldableGraph());
  const ScopeContents& a = folded.contents(folded.findScope("network/a"));
  REQUIRE(a.kernels.size() == 1);
  CHECK(a.kernels.front().kernel == core::KernelId(0));
  std::set<std::string> members;
  for (const int member : a.kernels.front().members)
    members.insert(nameOf(folded, a.items[static_cast<std::size_t>(member)]));
  CHECK(members == std::set<std::string>{"network/a/Conv-op1", "network/a/Relu-op1"});
  CHECK(folded.contents(folded.findScope("network/b")).kernels.empty());
  CHECK(folded.contents(folded.root()).kernels.empty());
}

TEST_CASE("The path of a node is what can be reached along tensors", "[graph_view]") {
  const auto graph = GENERATE(test::foldableGraph(), test::wideGraph(80));
  for (const NodeId start : {NodeId(1), NodeId(static_cast<std::int64_t>(graph->nodes().size()) - 2)}) {
    std::vector<bool> below(graph->nodes().size(), false), above(graph->nodes().size(), false);
    std::queue<NodeId> todo;
    for (todo.push(start); !todo.empty(); todo.pop()) {
      below[todo.front().index()] = true;
      for (const core::TensorId output : graph->node(todo.front()).outputs)
        for (const NodeId reader : graph->consumers(output))
          if (!below[reader.index()]) below[reader.index()] = true, todo.push(reader);
    }
    for (todo.push(start); !todo.empty(); todo.pop()) {
      above[todo.front().index()] = true;
      for (const core::TensorId input : graph->node(todo.front()).inputs) {
        const NodeId producer = graph->tensor(input).producer;
        if (producer.valid() && !above[producer.index()]) above[producer.index()] = true, todo.push(producer);
      }
    }
    CHECK(pathOf(*graph, start, Direction::kDownstream) == below);
    CHECK(pathOf(*graph, start, Direction::kUpstream) == above);
  }
}

TEST_CASE("The first picture opens the forward part unless it is crowded", "[graph_view]") {
  FoldedGraph small(test::foldableGraph());
  small.expandInitially();
  CHECK(small.expanded() == std::set<ScopeId>{small.findScope("network")});
  FoldedGraph flat(std::make_shared<core::Graph>());
  flat.expandInitially();
  CHECK(flat.expanded().empty());
  CHECK(flat.contents(flat.root()).items.empty());
}
