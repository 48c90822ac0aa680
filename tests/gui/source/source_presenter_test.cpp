#include <QAbstractItemModelTester>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "app/presenters/source/source_files.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using app::SourcePresenter;
using Json = nlohmann::json;

namespace {

std::vector<std::string> names(const core::Graph& graph, const std::vector<core::NodeId>& nodes) {
  std::vector<std::string> list;
  for (const core::NodeId id : nodes) list.push_back(graph.node(id).name);
  return list;
}

std::vector<std::string> searched(const std::filesystem::path& run, const std::string& query) {
  const auto result = test::runMsdbg({"search", run.string(), query, "--json"});
  const Json json = Json::parse(result.out);
  std::vector<std::string> list;
  for (const Json& node : json.at("nodes")) list.push_back(node.at("name"));
  return list;
}

int fileNamed(const SourcePresenter& source, const std::string& end) {
  for (std::size_t i = 0; i < source.files().size(); ++i)
    if (source.files()[i].path.ends_with(end)) return static_cast<int>(i);
  return -1;
}

std::string pathOf(const SourcePresenter& source) {
  return source.files().at(static_cast<std::size_t>(source.file())).path;
}

core::NodeId node(const core::Graph& graph, const std::string& name) {
  const auto found = graph.findNode(name);
  REQUIRE(found);
  return *found;
}

// The file below sources/ that holds the copy.
std::filesystem::path copyIn(const std::filesystem::path& run, const std::string& file) {
  std::ifstream journal(run / "rank_0/journal");
  for (std::string line; std::getline(journal, line);)
    if (const Json json = Json::parse(line); json.contains("sources"))
      return run / "sources" / json["sources"].at(file).get<std::string>();
  return {};
}

}  // namespace

TEST_CASE("Each line of the model's file has the nodes that msdbg search gives, in its order", "[gui]") {
  const auto document = test::openDocument(test::cleanRun());
  SourcePresenter source(*document);
  source.showFile(fileNamed(source, "models/mlp.cpp"));
  const std::string file = pathOf(source);
  const int lines = static_cast<int>(source.text().count('\n'));
  REQUIRE(lines > 20);
  int withNodes = 0;
  for (int line = 1; line <= lines; ++line) {
    CAPTURE(line);
    const auto expected = searched(document->path(), file + ":" + std::to_string(line));
    const auto counted = source.nodeCounts().find(line);
    CHECK((counted == source.nodeCounts().end() ? 0u : static_cast<unsigned>(counted->second)) ==
          expected.size());
    CHECK(names(document->graph(), source.nodesOf(line)) == expected);
    if (!expected.empty()) ++withNodes;
  }
  CHECK(withNodes == static_cast<int>(source.nodeCounts().size()));
  CHECK(withNodes >= 3);
}

TEST_CASE("Lines of the engine's own files are counted as msdbg search counts them", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  int checked = 0;
  for (std::size_t i = 0; i < source.files().size(); ++i) {
    source.showFile(static_cast<int>(i));
    for (const auto& [line, count] : source.nodeCounts()) {
      CAPTURE(pathOf(source), line);
      CHECK(source.nodesOf(line).size() == static_cast<std::size_t>(count));
      ++checked;
    }
  }
  CHECK(checked > 15);
}

TEST_CASE("The run's own copy is shown, of the model's file first", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  const SourcePresenter source(*document);
  CHECK(pathOf(source) == "core_engine/models/lenet5.cpp");
  CHECK(source.files()[static_cast<std::size_t>(source.file())].title == "lenet5.cpp");
  std::ifstream in(test::sourceDir() / "core_engine/models/lenet5.cpp");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  CHECK(source.text().toStdString() == text);
}

TEST_CASE("Choosing a line selects its nodes everywhere and keeps the line", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  const int line = source.nodeCounts().begin()->first;
  source.selectLine(line);
  const app::Place& place = document->cursor().place();
  CHECK(names(document->graph(), place.nodes) ==
        searched(document->path(), pathOf(source) + ":" + std::to_string(line)));
  CHECK(place.line == app::SourceLine{pathOf(source), line});
  CHECK(source.line() == line);
}

TEST_CASE("A line without nodes selects nothing and names the nearest ones", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  QString said;
  QObject::connect(&source, &SourcePresenter::message, [&](const QString& text) { said = text; });
  REQUIRE_FALSE(source.nodeCounts().contains(1));
  source.selectLine(1);
  CHECK(document->cursor().place().nodes.empty());
  CHECK(said.startsWith("Line 1 made no node; the nearest lines that did: " +
                        QString::number(source.nodeCounts().begin()->first)));
}

TEST_CASE("Selecting a node goes to its line and lists its frames, innermost first", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  const QAbstractItemModelTester tester(&source.frames(),
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  int lines = 0;
  QObject::connect(&source, &SourcePresenter::lineChanged, [&] { ++lines; });
  const core::NodeId conv = node(document->graph(), "network/conv2/Conv-op1");
  document->cursor().selectNode(conv);
  const auto json =
      Json::parse(
          test::runMsdbg({"search", document->path().string(), "network/conv2/Conv-op1", "--json"}).out)
          .at("nodes")
          .at(0)
          .at("frames");
  REQUIRE(source.frames().rowCount() == static_cast<int>(json.size()));
  for (int row = 0; row < source.frames().rowCount(); ++row) {
    const core::Frame& frame = source.frames().frames()[static_cast<std::size_t>(row)];
    CHECK(frame.file == json[static_cast<std::size_t>(row)].at("file").get<std::string>());
    CHECK(frame.line == json[static_cast<std::size_t>(row)].at("line").get<int>());
  }
  CHECK(lines == 1);
  CHECK(source.framesTitle() == "network/conv2/Conv-op1");
  CHECK(source.line() == document->cursor().place().line->line);
  CHECK(source.currentFrame() == source.frames().rowOf(*document->cursor().place().line));
  document->cursor().clearSelection();
  CHECK(source.frames().rowCount() == 0);
  CHECK(source.framesTitle().isEmpty());
  CHECK(source.line() == 0);
}

TEST_CASE("A frame is gone to without changing the selected nodes", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  document->cursor().selectNode(node(document->graph(), "network/conv2/Conv-op1"));
  const int outermost = source.frames().rowCount() - 1;
  REQUIRE(outermost > 0);
  const app::Place before = document->cursor().place();
  source.goToFrame(outermost);
  const core::Frame& frame = source.frames().frames()[static_cast<std::size_t>(outermost)];
  CHECK(document->cursor().place().nodes == before.nodes);
  CHECK(document->cursor().place().tensor == before.tensor);
  CHECK(document->cursor().place().line == app::SourceLine{frame.file, frame.line});
  CHECK(source.line() == frame.line);
  CHECK(source.currentFrame() == outermost);
}

TEST_CASE("A parameter shows where it was declared, not where it is read", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  const auto weight = document->graph().findTensor("network/conv2/weight");
  REQUIRE(weight);
  document->cursor().selectTensor(*weight);
  CHECK(source.framesTitle() == "network/conv2/weight");
  CHECK(source.frames().rowCount() == static_cast<int>(document->graph().tensor(*weight).frames.size()));
}

TEST_CASE("Lines of faults and hints are marked once the check has found them", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  CHECK(source.marks().empty());
  int changes = 0;
  QObject::connect(&source, &SourcePresenter::marksChanged, [&] { ++changes; });
  test::check(*document);
  CHECK(changes == 1);
  const auto first =
      Json::parse(test::runMsdbg({"check", document->path().string(), "--first", "--json"}).out);
  const auto& hit = first.at("first");
  const app::Place place = document->findings().placeOf(document->findings().hits().front());
  REQUIRE(place.line);
  CHECK(document->graph().node(place.nodes.front()).name == hit.at("node").get<std::string>());
  source.showFile(fileNamed(source, place.line->file));
  const auto mark = source.marks().find(place.line->line);
  REQUIRE(mark != source.marks().end());
  CHECK(mark->second.faults > 0);
  CHECK(mark->second.first);
  CHECK(mark->second.texts.join('\n').contains("network/conv2/Conv-op1 at iteration 4, rank 1"));
  CHECK(source.toolTip(place.line->line).contains(mark->second.texts.front()));
  std::size_t all = 0;
  int firsts = 0;
  for (std::size_t i = 0; i < source.files().size(); ++i) {
    source.showFile(static_cast<int>(i));
    for (const auto& [line, m] : source.marks()) {
      all += static_cast<std::size_t>(m.faults + m.hints);
      firsts += m.first ? 1 : 0;
    }
  }
  CHECK(all == document->findings().hits().size());
  CHECK(firsts == 1);
}

TEST_CASE("Previous and next lines with nodes are found from any line", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  const SourcePresenter source(*document);
  std::vector<int> forward, backward;
  for (int line = source.lineWithNodes(0, 1); line > 0; line = source.lineWithNodes(line, 1))
    forward.push_back(line);
  for (int line = source.lineWithNodes(100'000, -1); line > 0; line = source.lineWithNodes(line, -1))
    backward.insert(backward.begin(), line);
  std::vector<int> expected;
  for (const auto& [line, count] : source.nodeCounts()) expected.push_back(line);
  CHECK(forward == expected);
  CHECK(backward == expected);
}

TEST_CASE("The query of what is shown works as a command", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  SourcePresenter source(*document);
  CHECK(source.query() == "core_engine/models/lenet5.cpp");
  CHECK_FALSE(searched(document->path(), source.query().toStdString()).empty());
  document->cursor().selectNode(node(document->graph(), "network/conv1/Conv-op1"));
  CHECK(source.query().startsWith("core_engine/models/lenet5.cpp:"));
  CHECK_FALSE(searched(document->path(), source.query().toStdString()).empty());
}

TEST_CASE("A copy that is damaged or gone says so; the rest works", "[gui]") {
  const test::TempDir folder;
  const auto run = test::copyOf(test::nanRun(), folder.path());
  const std::string model = "core_engine/models/lenet5.cpp";
  const auto copy = copyIn(run, model);
  REQUIRE(std::filesystem::exists(copy));
  SECTION("gone") { std::filesystem::remove(copy); }
  SECTION("changed") {
    std::filesystem::permissions(copy, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::ofstream(copy, std::ios::app) << "x";
  }
  const auto document = test::openDocument(run);
  SourcePresenter source(*document);
  REQUIRE(pathOf(source) == model);
  const QString missing = source.files()[static_cast<std::size_t>(source.file())].missing;
  CHECK(missing.startsWith(QString::fromStdString("The run's copy of " + model + " is damaged: sources/")));
  CHECK(source.text().isEmpty());
  document->cursor().selectNode(node(document->graph(), "network/conv2/Conv-op1"));
  CHECK(source.frames().rowCount() > 0);
  CHECK(source.files()[static_cast<std::size_t>(fileNamed(source, "layers.cpp"))].missing.isEmpty());
}

TEST_CASE("A file that the run has no copy of is listed and says what to do", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  app::RunFacts facts = document->facts();
  facts.sources.erase("core_engine/models/lenet5.cpp");
  const auto files = app::sourceFiles(facts, app::LineIndex(*facts.graph));
  const auto found = std::ranges::find(files, "core_engine/models/lenet5.cpp", &app::SourceFile::path);
  REQUIRE(found != files.end());
  CHECK(found->missing.startsWith("The run holds no copy of core_engine/models/lenet5.cpp"));
  CHECK(found->missing.contains("Record the run again"));
}

TEST_CASE("Files of one base name are told apart by as much of the path as that takes", "[gui]") {
  const auto document = test::openDocument(test::nanRun());
  app::RunFacts facts = document->facts();
  facts.sources = {{"lib/a/train.cpp", ""}, {"lib/b/train.cpp", ""}, {"main.cpp", ""}};
  const auto files = app::sourceFiles(facts, app::LineIndex(core::Graph()));
  REQUIRE(files.size() == 3);
  CHECK(files[0].title == "a/train.cpp");
  CHECK(files[1].title == "b/train.cpp");
  CHECK(files[2].title == "main.cpp");
}
