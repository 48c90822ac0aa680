// Everything open at once: the built-in models, and what many read.
#include <catch2/catch.hpp>
#include <map>

#include "app/presenters/graph/blocks.h"
#include "core_engine/models/model.h"
#include "core_engine/passes/pipeline.h"
#include "graph_view/model/folded_graph.h"
#include "tests/gui/graph/graphs.h"

using namespace msdbg;
using namespace msdbg::graphview;

namespace {

// Fixed sizes: these tests need no fonts.
const app::GraphMetrics kPlain{
    [](const BoxText& text, Item::Kind) {
      return Size{120, 40 + 14.0 * static_cast<double>(text.lines.size())};
    },
    [](const std::string& text) { return 7.0 * static_cast<double>(text.size()); }};

std::shared_ptr<const core::Graph> trainingGraph(const core::ModelInfo& model, std::int64_t layers = 0) {
  auto graph = std::make_shared<core::Graph>("network");
  core::ModelOptions options{.batch = 2};
  if (layers > 0) options.size = {layers, 2, 32, 16, 128};
  const core::Value loss = model.build(*graph, options);
  REQUIRE(core::compileTraining(*graph, loss.id(), model.optimizer, 2).ok());
  return graph;
}

// Counts the boxes of nodes below `scope`, and those that are not inside their scope or lie on another box.
struct Counted {
  std::int64_t nodes = 0, copies = 0, wrong = 0;
};
void count(const FoldedGraph& folded, ScopeId scope, const Placement& placement, Counted& counted) {
  const std::vector<Item>& items = folded.contents(scope).items;
  const std::vector<Rect>& boxes = placement.layout.boxes;
  REQUIRE(boxes.size() == items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Rect& box = boxes[i];
    counted.wrong += box.x < -0.01 || box.y < -0.01 || box.right() > placement.size.width + 0.01 ||
                     box.bottom() > placement.size.height + 0.01;
    for (std::size_t k = 0; k < i; ++k)
      counted.wrong += box.x + 0.5 < boxes[k].right() && boxes[k].x + 0.5 < box.right() &&
                       box.y + 0.5 < boxes[k].bottom() && boxes[k].y + 0.5 < box.bottom();
    counted.copies += items[i].isCopy();
    counted.nodes += items[i].isNode() && !items[i].isCopy();
    if (placement.inner[i]) count(folded, items[i].scope(), *placement.inner[i], counted);
  }
}

std::vector<Item> copiesIn(const FoldedGraph& folded, const std::string& scope) {
  std::vector<Item> copies;
  for (const Item& item : folded.contents(folded.findScope(scope)).items)
    if (item.isCopy()) copies.push_back(item);
  return copies;
}

}  // namespace

TEST_CASE("Every model can be opened whole, again and again", "[graph_view]") {
  std::vector<std::shared_ptr<const core::Graph>> graphs = {test::wideGraph(500)};
  for (const core::ModelInfo& model : core::builtinModels()) {
    graphs.push_back(trainingGraph(model));
    if (model.readsText()) graphs.push_back(trainingGraph(model, 12));
  }
  for (unsigned seed = 0; seed < 20; ++seed) graphs.push_back(test::wideGraph(40 + 10 * seed, seed));
  for (const auto& graph : graphs)
    for (int round = 0; round < 3; ++round) {
      FoldedGraph folded(graph);
      folded.expandAll(folded.root());
      NestedLayout nested;
      const auto placement = nested.place(app::blockOf(folded, kPlain), {});
      REQUIRE(placement);
      Counted counted;
      count(folded, folded.root(), *placement, counted);
      CHECK(counted.nodes == static_cast<std::int64_t>(graph->nodes().size()));
      CHECK(counted.wrong == 0);
    }
}

TEST_CASE("What many layers read stands beside each of them", "[graph_view]") {
  const int layers = GENERATE(12, 200);
  FoldedGraph folded(test::maskedGraph(layers));
  const Item mask = Item::of(folded.graph().findNode("network/Trilu-op1").value());
  const std::vector<Item> copies = copiesIn(folded, "network");
  CHECK(copies.size() == static_cast<std::size_t>(layers - 1));  // the first layer has the edge
  for (const Item& copy : copies) CHECK(copy.original() == mask);
  CHECK(std::set(copies.begin(), copies.end()).size() == copies.size());
  CHECK(boxText(folded, copies.front()).title == "Trilu-op1");
  CHECK(copiesIn(folded, "network/block7").empty());

  const ScopeContents& contents = folded.contents(folded.findScope("network"));
  std::map<std::string, int> leaving;  // edges by where they come from
  for (const Edge& edge : contents.edges) {
    const Item &from = contents.items[static_cast<std::size_t>(edge.from)],
               &to = contents.items[static_cast<std::size_t>(edge.to)];
    if (from.original() == mask) ++leaving[from.isCopy() ? "copies" : "mask"];
    if (from.isCopy()) {
      CHECK(from == mask.beside(to));
      CHECK(edge.to == edge.from + 1);
    }
  }
  CHECK(leaving == std::map<std::string, int>{{"mask", 1}, {"copies", layers - 1}});

  folded.setExpanded(folded.findScope("network"), true);
  NestedLayout nested;
  const auto placement = nested.place(app::blockOf(folded, kPlain), {});
  CHECK(placement->size.width < 500);  // a column: no lanes, no stairs
}

TEST_CASE("What few read, or all in one place, keeps its edges", "[graph_view]") {
  CHECK(copiesIn(FoldedGraph(test::maskedGraph(4)), "network").empty());
  auto graph = std::make_shared<core::Graph>();
  const auto x = test::addSourceOf(*graph, "network/x", core::TensorRole::kInput);
  const auto state = test::addOp(*graph, "Relu", "network", {x});
  for (int gate = 0; gate < 8; ++gate) test::addOp(*graph, "Sigmoid", "network", {state});
  CHECK(copiesIn(FoldedGraph(graph), "network").empty());
}
