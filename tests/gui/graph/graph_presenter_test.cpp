#include "app/presenters/graph/graph_presenter.h"

#include <QJsonArray>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/gui/graph/graphs.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/watchpoints/fake_source.h"

using namespace msdbg;
using app::GraphPresenter;
using graphview::Health;
using graphview::Item;

namespace {

// Fixed sizes: these tests need no fonts.
app::GraphMetrics plainMetrics() {
  return {[](const graphview::BoxText& text, Item::Kind) {
            return graphview::Size{120, 40 + 14.0 * static_cast<double>(text.lines.size())};
          },
          [](const std::string& text) { return 6.0 * static_cast<double>(text.size()); }};
}

struct Shown {
  std::unique_ptr<app::Document> document;
  GraphPresenter presenter{plainMetrics()};
  explicit Shown(const std::filesystem::path& run) : document(test::openDocument(run)) {
    presenter.setDocument(document.get());
    settle();
  }
  ~Shown() { presenter.setDocument(nullptr); }
  void settle() {
    REQUIRE(test::eventually([&] { return presenter.settled(); }));
  }
  core::NodeId node(const std::string& name) const { return document->graph().findNode(name).value(); }
  graphview::ScopeId scope(const std::string& path) const { return presenter.folded()->findScope(path); }
  bool open(const std::string& path) const { return presenter.folded()->isExpanded(scope(path)); }
};

// What `msdbg stats` says about every node's outputs, the worst of them.
std::map<std::string, Health> expectedHealth(const std::filesystem::path& run, int rank, int iteration) {
  INFO("rank " << rank << ", iteration " << iteration);
  const auto result = test::runMsdbg({"stats", run.string(), "--tensor", "*-op*", "--json"});
  REQUIRE(result.exitStatus == 0);
  std::map<std::string, Health> health;
  const auto document = nlohmann::json::parse(result.out);
  for (const auto& tensor : document["tensors"]) {
    const std::string name = tensor["tensor"];
    for (const nlohmann::json& row : tensor["rows"]) {
      if (row["rank"].get<int>() != rank || row["iteration"].get<int>() != iteration) continue;
      const nlohmann::json& s = row["statistics"];
      const auto count = [&](const char* key) { return s.at(key).get<std::int64_t>(); };
      const Health one = count("nan") > 0                  ? Health::kNan
                         : count("inf") > 0                ? Health::kInf
                         : count("zero") == count("count") ? Health::kAllZero
                                                           : Health::kFinite;
      Health& all = health[name.substr(0, name.rfind(':'))];
      all = std::max(all, one);
    }
  }
  return health;
}

}  // namespace

TEST_CASE("Badges are what stats says about the outputs of every node at the cursor", "[gui][graph]") {
  Shown shown(test::nanRun());
  const auto [rank, iteration] = GENERATE(std::pair(0, 0), std::pair(1, 4), std::pair(0, 9));
  app::Place place = shown.document->cursor().place();
  place.rank = core::Rank(rank), place.iteration = core::Iteration(iteration);
  shown.document->cursor().moveTo(place);
  shown.settle();
  const auto expected = expectedHealth(test::nanRun(), rank, iteration);
  const auto health = shown.presenter.health();
  REQUIRE(health.size() == shown.document->graph().nodes().size());
  std::map<std::string, Health> got;
  for (const core::Node& node : shown.document->graph().nodes()) got[node.name] = health[node.id.index()];
  CHECK(expected.size() == got.size());
  CHECK(got == expected);
  CHECK(shown.presenter.problem().isEmpty());
}

TEST_CASE("A collective wears the worst of its results on any rank, another node that of its own",
          "[gui][graph]") {
  const auto graph = test::foldableGraph();
  test::FakeSource run(*graph, 3, 2);
  for (int rank = 0; rank < 3; ++rank)
    for (const core::TensorInfo& tensor : graph->tensors()) run.row(rank, 1, tensor.id).values.count = 8;
  const core::NodeId collective = graph->findNode("grad/network/a/Allreduce-op1").value(),
                     relu = graph->findNode("network/a/Relu-op1").value();
  const auto outputOf = [&](core::NodeId node) { return graph->node(node).outputs.front(); };
  run.row(2, 1, outputOf(collective)).values.nan = 1;
  run.row(2, 1, outputOf(relu)).values.nan = 1;
  const auto at = [&](int rank) { return app::readBadges(run, core::Rank(rank), core::Iteration(1), {}); };
  for (const int rank : {0, 1, 2}) CHECK(at(rank).nodes[collective.index()] == Health::kNan);
  CHECK(at(0).nodes[relu.index()] == Health::kFinite);
  CHECK(at(2).nodes[relu.index()] == Health::kNan);
  CHECK(at(0).complete);
  run.loseIteration(1, 1);  // not yet recorded there
  CHECK(at(0).nodes[collective.index()] == Health::kNan);
  CHECK_FALSE(at(0).complete);
}

TEST_CASE("Of a graph that only grows it is said that nodes may not have run", "[gui][graph]") {
  core::Graph graph("net");
  core::TensorInfo output;
  for (int i = 0; i < 2; ++i)
    graph.addNode("mul", "Net", core::Phase::kForward, {}, {}, {output}, {}, {}, "aten");
  test::FakeSource run(graph, 1, 1);
  run.row(0, 0, graph.node(core::NodeId(0)).outputs.front()).values.count = 1;
  const QString problem = app::readBadges(run, core::Rank(0), core::Iteration(0), {}).problem;
  CHECK(problem.contains("nothing was seen of 1 node,"));
  CHECK_FALSE(problem.contains("--policy"));
}

TEST_CASE("Only the last of many steps is read, and places seen before are known at once", "[gui][graph]") {
  Shown shown(test::nanRun());
  int changes = 0;
  QObject::connect(&shown.presenter, &GraphPresenter::healthChanged, [&] { ++changes; });
  for (int i = 1; i < 10; ++i) shown.document->cursor().setIteration(core::Iteration(i));
  shown.settle();
  CHECK(changes == 1);
  shown.document->cursor().setIteration(core::Iteration(0));
  CHECK(changes == 2);  // without waiting
  CHECK(shown.presenter.settled());
  CHECK(shown.presenter.health().front() == Health::kFinite);
}

TEST_CASE("A node selected elsewhere opens the scopes around it and is brought into sight", "[gui][graph]") {
  Shown shown(test::nanRun());
  CHECK(shown.open("network"));
  CHECK_FALSE(shown.open("grad/network"));
  Item revealed;
  QObject::connect(&shown.presenter, &GraphPresenter::revealAsked, [&](Item item) { revealed = item; });
  const core::NodeId node = shown.node("grad/network/conv2/ConvGradWeight-op1");
  shown.document->cursor().selectNode(node);
  shown.settle();
  CHECK(shown.open("grad/network/conv2"));
  CHECK_FALSE(shown.open("grad/network/conv1"));
  CHECK(revealed == Item::of(node));
  CHECK(shown.presenter.current() == Item::of(node));
}

TEST_CASE("Choosing moves the cursor; a scope does not, its folding takes the keyboard along",
          "[gui][graph]") {
  Shown shown(test::nanRun());
  const core::NodeId node = shown.node("network/conv2/Conv-op1");
  bool revealed = false;
  QObject::connect(&shown.presenter, &GraphPresenter::revealAsked, [&] { revealed = true; });
  shown.presenter.setExpanded(shown.scope("network/conv2"), true);
  shown.settle();
  shown.presenter.choose(Item::of(node));
  CHECK(shown.document->cursor().node() == node);
  CHECK_FALSE(revealed);  // what was clicked is in sight
  shown.presenter.setExpanded(shown.scope("network/conv2"), false);
  shown.settle();
  CHECK(shown.presenter.current() == Item::of(shown.scope("network/conv2")));
  CHECK(shown.document->cursor().node() == node);
  const auto input = shown.document->graph().findTensor("network/x").value();
  shown.presenter.choose(Item::of(input));
  CHECK(shown.document->cursor().tensor() == input);
  shown.presenter.choose({});
  CHECK(shown.document->cursor().place().nodes.empty());
}

TEST_CASE("A copy of a node selects the node, and is left when its scope is folded", "[gui][graph]") {
  Shown shown(test::nanRun());
  const core::NodeId node = shown.node("network/conv2/Conv-op1");
  shown.presenter.setExpanded(shown.scope("network/conv2"), true);
  const Item copy = Item::of(node).beside(Item::of(shown.scope("network/conv1")));
  shown.presenter.choose(copy);
  CHECK(shown.document->cursor().node() == node);
  CHECK(shown.presenter.current() == copy);
  CHECK(shown.presenter.tooltip(copy) == shown.presenter.tooltip(Item::of(node)));
  shown.presenter.setExpanded(shown.scope("network/conv2"), false);
  CHECK(shown.presenter.current() == Item::of(shown.scope("network/conv2")));
  shown.settle();
}

TEST_CASE("Several selected nodes are all marked, the first one leads", "[gui][graph]") {
  Shown shown(test::nanRun());
  const std::vector<core::NodeId> nodes = {shown.node("network/fc1/Gemm-op1"),
                                           shown.node("network/fc1/Relu-op1")};
  shown.document->cursor().selectNodes(nodes);
  shown.settle();
  CHECK(shown.presenter.selected() == nodes);
  CHECK(shown.presenter.current() == Item::of(nodes.front()));
}

TEST_CASE("Hits of the report are marked, the first fault before all", "[gui][graph]") {
  Shown shown(test::nanRun());
  CHECK(shown.presenter.hits().empty());
  test::check(*shown.document);
  const auto result = test::runMsdbg({"check", test::nanRun().string(), "--json"});
  const auto report = nlohmann::json::parse(result.out);
  const core::NodeId first = shown.node(report["first"]["node"]);
  CHECK(shown.presenter.hits().at(first) == GraphPresenter::Mark::kFirst);
  CHECK(shown.presenter.tooltip(Item::of(first)).contains("iteration 4, rank 1"));
  for (const auto& hit : report["hits"])
    if (hit["node"].is_string())
      CHECK(shown.presenter.hits().at(shown.node(hit["node"])) >= GraphPresenter::Mark::kFault);
}

TEST_CASE("The path follows the selection", "[gui][graph]") {
  Shown shown(test::cleanRun());
  shown.presenter.setPath(graphview::Direction::kUpstream);
  CHECK(shown.presenter.path().empty());  // of nothing
  const auto& graph = shown.document->graph();
  const core::NodeId first(0), last(static_cast<std::int64_t>(graph.nodes().size()) - 1);
  shown.presenter.choose(Item::of(last));
  CHECK(shown.presenter.path() == graphview::pathOf(graph, last, graphview::Direction::kUpstream));
  shown.presenter.choose(Item::of(first));
  CHECK(shown.presenter.path() == graphview::pathOf(graph, first, graphview::Direction::kUpstream));
  shown.presenter.setPath({});
  CHECK(shown.presenter.path().empty());
}

TEST_CASE("The command prints what is selected", "[gui][graph]") {
  Shown shown(test::nanRun());
  const QString run = shown.document->runArgument();
  CHECK(shown.presenter.command() == "msdbg info " + run);
  shown.presenter.choose(Item::of(shown.node("network/conv2/Conv-op1")));
  CHECK(shown.presenter.command() == "msdbg search " + run + " network/conv2/Conv-op1");
  const auto result = test::runMsdbg({"search", test::nanRun().string(), "network/conv2/Conv-op1", "--json"});
  REQUIRE(result.exitStatus == 0);
  CHECK(nlohmann::json::parse(result.out)["nodes"].size() == 1);
}

TEST_CASE("Open scopes are kept between sessions, also when given before the run", "[gui][graph]") {
  QJsonObject state;
  {
    Shown shown(test::nanRun());
    shown.presenter.setExpanded(shown.scope("grad/network"), true);
    shown.presenter.setExpanded(shown.scope("network"), false);
    state = shown.presenter.state();
  }
  GraphPresenter later(plainMetrics());
  later.restore(state);
  const auto document = test::openDocument(test::nanRun());
  later.setDocument(document.get());
  CHECK(later.folded()->isExpanded(later.folded()->findScope("grad/network")));
  CHECK_FALSE(later.folded()->isExpanded(later.folded()->findScope("network")));
  later.restore({{"open", QJsonArray{"no/such/scope", 7}}});
  CHECK(later.folded()->expanded().empty());
  later.restore({{"open", "nonsense"}});
  REQUIRE(test::eventually([&] { return later.settled(); }));
  later.setDocument(nullptr);
  CHECK(later.folded() == nullptr);
  CHECK(later.placement() == nullptr);
  CHECK(later.command().isEmpty());
  CHECK(later.settled());
}

TEST_CASE("Statistics that are damaged are told, the graph is shown all the same", "[gui][graph]") {
  const test::TempDir dir;
  const auto run = test::copyOf(test::nanRun(), dir.path());
  const auto segment = run / "rank_0" / "segment_000000.h5";
  std::filesystem::resize_file(segment, std::filesystem::file_size(segment) / 2);
  Shown shown(run);
  CHECK(shown.presenter.placement() != nullptr);
  CHECK(shown.presenter.problem().contains("rank 0"));
  shown.document->cursor().setRank(core::Rank(1));
  shown.settle();
  CHECK(shown.presenter.problem().isEmpty());
  CHECK(shown.presenter.health().front() == Health::kFinite);
}
