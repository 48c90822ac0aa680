#include "app/presenters/search/search_presenter.h"

#include <QAbstractItemModelTester>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/gui/graph/graphs.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"

using namespace msdbg;
using app::SearchModel;
using app::SearchPresenter;
using Json = nlohmann::json;

namespace {

void searchFor(SearchPresenter& search, const std::string& query) {
  search.search(QString::fromStdString(query));
  REQUIRE(test::eventually([&] { return !search.searching(); }));
}

// Where the model makes its first convolution.
app::SourceLine convLine(const app::Document& document) {
  const auto conv = document.graph().findNode("network/conv1/Conv-op1");
  REQUIRE(conv);
  const auto line = app::lineOf(document.graph(), document.graph().node(*conv).frames);
  REQUIRE(line);
  return *line;
}

// LINE in a query stands for it.
std::string withLine(std::string query, std::int32_t line) {
  for (std::size_t at; (at = query.find("LINE")) != std::string::npos;)
    query.replace(at, 4, std::to_string(line));
  return query;
}

std::string cell(const SearchModel& model, int row, SearchModel::Column column) {
  return model.index(row, column).data().toString().toStdString();
}

}  // namespace

TEST_CASE("Rows tell what differs: without the scopes that all of them share", "[gui]") {
  const auto graph = test::foldableGraph();
  app::SearchModel model(graph);
  const auto brief = [&](int row) {
    return model.index(row, 0).data(app::SearchModel::kBriefRole).toString();
  };
  const auto node = [&](const char* name) { return graph->findNode(name).value(); };
  model.setNodes({node("network/a/Conv-op1"), node("network/a/Relu-op1"), node("network/b/Gemm-op1")});
  CHECK(brief(0) == QStringLiteral("\u2026/a/Conv-op1"));
  CHECK(brief(2) == QStringLiteral("\u2026/b/Gemm-op1"));
  CHECK(model.index(0, 0).data() == "network/a/Conv-op1");
  model.setNodes({node("network/a/Conv-op1"), node("grad/network/LossGrad-op1")});
  CHECK(brief(0) == "network/a/Conv-op1");
}

TEST_CASE("The search finds what msdbg search finds, in its order, with the same facts", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SearchPresenter search(*document);
  const QAbstractItemModelTester tester(&search.results(),
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  const std::string pattern =
      GENERATE(as<std::string>(), "lenet5.cpp:LINE", "lenet5.cpp:LINE-99999", "lenet5.cpp", "conv2",
               "ConvGradWeight", "*bias*", "network/conv1/Conv-op1", "grad(network/conv2/weight)", "GEMM");
  const std::string query = withLine(pattern, convLine(*document).line);
  CAPTURE(query);
  searchFor(search, query);
  const auto nodes =
      Json::parse(test::runMsdbg({"search", document->path().string(), query, "--json"}).out).at("nodes");
  const SearchModel& results = search.results();
  REQUIRE_FALSE(nodes.empty());
  REQUIRE(results.rowCount() == static_cast<int>(nodes.size()));
  CHECK_FALSE(search.failed());
  for (int row = 0; row < results.rowCount(); ++row) {
    const Json& node = nodes[static_cast<std::size_t>(row)];
    CHECK(cell(results, row, SearchModel::kNode) == node.at("name").get<std::string>());
    CHECK(cell(results, row, SearchModel::kType) == node.at("op_type").get<std::string>());
    CHECK(cell(results, row, SearchModel::kPhase) == node.at("phase").get<std::string>());
    std::string shape;
    for (const Json& dimension : node.at("tensors").at(0).at("shape"))
      shape += (shape.empty() ? "" : ", ") + std::to_string(dimension.get<int>());
    CHECK(cell(results, row, SearchModel::kOutput) ==
          node.at("tensors").at(0).at("dtype").get<std::string>() + " [" + shape + "]");
    CHECK(cell(results, row, SearchModel::kLine).starts_with("lenet5.cpp:"));
  }
}

TEST_CASE("What cannot be found is said as msdbg search says it", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SearchPresenter search(*document);
  searchFor(search, "conv2");
  REQUIRE(search.results().rowCount() > 0);
  const std::string query =
      GENERATE("conv9", "alexnet.cpp:52", "lenet5.cpp:1", "lenet5.cpp:9-2", "lenet5.cpp:");
  CAPTURE(query);
  searchFor(search, query);
  CHECK(search.failed());
  CHECK(search.results().rowCount() == 0);
  const auto result = test::runMsdbg({"search", document->path().string(), query});
  CHECK_THAT(result.err, Catch::Contains(search.message().toStdString()));
  CHECK_FALSE(search.message().isEmpty());
}

TEST_CASE("While one types only the last query is answered", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SearchPresenter search(*document);
  std::vector<int> counts;
  QObject::connect(&search.results(), &QAbstractItemModel::modelReset,
                   [&] { counts.push_back(search.results().rowCount()); });
  for (const char* query : {"c", "co", "con", "conv", "conv2/Conv-op1"}) search.type(query);
  CHECK(search.searching());
  REQUIRE(test::eventually([&] { return !search.searching(); }));
  CHECK(counts == std::vector<int>{1});
  CHECK(cell(search.results(), 0, SearchModel::kNode) == "network/conv2/Conv-op1");
}

TEST_CASE("Emptying the field while a search runs leaves nothing behind", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SearchPresenter search(*document);
  searchFor(search, "conv1");
  search.type("conv2");
  search.type("");
  CHECK_FALSE(search.searching());
  CHECK(search.results().rowCount() == 0);
  CHECK(search.message().isEmpty());
  test::settle(*document);
  CHECK(search.results().rowCount() == 0);
}

TEST_CASE("A result is selected alone, all of them with the line that was asked for", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SearchPresenter search(*document);
  const app::SourceLine line = convLine(*document);
  searchFor(search, withLine("lenet5.cpp:LINE-99999", line.line));
  const auto nodes = search.results().nodes();
  REQUIRE(nodes.size() > 2);
  search.select(1);
  CHECK(document->cursor().place().nodes == std::vector{nodes[1]});
  CHECK(search.currentRow() == 1);
  search.selectAll();
  CHECK(document->cursor().place().nodes == nodes);
  CHECK(document->cursor().place().line == line);
  CHECK(search.currentRow() == 0);
  searchFor(search, "Gemm");
  search.selectAll();
  CHECK(document->cursor().place().nodes == search.results().nodes());
  CHECK(document->cursor().place().line ==
        app::lineOf(document->graph(), document->graph().node(search.results().nodes().front()).frames));
}
