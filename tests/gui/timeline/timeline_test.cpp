#include "app/presenters/timeline/timeline.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/gui/support/fake_document.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/watchpoints/small_graph.h"

namespace msdbg::app {
namespace {

using Json = nlohmann::json;
using Values = std::map<std::pair<std::int64_t, std::int64_t>, std::string>;  // (rank, iteration) -> value

// A number as the command writes it: non-finite ones are strings, missing ones null.
std::string textOf(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.is_null() ? "-" : Json(json.get<double>()).dump();
}
std::string textOf(const std::optional<double>& value) {
  if (!value) return "-";
  if (std::isnan(*value)) return "nan";
  if (std::isinf(*value)) return *value > 0 ? "inf" : "-inf";
  return Json(*value).dump();
}

Values valuesOf(const Timeline& timeline) {
  Values values;
  for (const TimelineLine& line : timeline.lines())
    for (const TimelinePoint& point : line.points)
      values[{line.rank.value, point.iteration.value}] = textOf(point.value);
  return values;
}

Values scalarValues(const std::filesystem::path& run, const std::string& name) {
  Values values;
  std::istringstream lines(test::runMsdbg({"info", run.string(), "--follow", "--json"}).out);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    values[{json["rank"], json["iteration"]}] = textOf(json["scalars"][name]);
  }
  return values;
}

Values statisticValues(const std::filesystem::path& run, const std::string& tensor,
                       const std::function<Json(const Json&)>& of) {
  const Json json = Json::parse(test::runMsdbg({"stats", run.string(), "--tensor", tensor, "--json"}).out);
  Values values;
  for (const Json& row : json["tensors"][0]["rows"])
    values[{row["rank"], row["iteration"]}] =
        textOf(row["statistics"].is_null() ? Json() : of(row["statistics"]));
  return values;
}

void waitFor(Timeline& timeline) {
  REQUIRE(test::eventually([&] { return !timeline.reading(); }));
}

void select(Document& document, const std::string& tensor) {
  document.cursor().selectTensor(*document.graph().findTensor(tensor));
}

TEST_CASE("A timeline starts with the loss of every rank, as msdbg info tells it") {
  const auto document = test::openDocument(test::nanRun());
  Timeline timeline(*document);
  waitFor(timeline);
  CHECK(timeline.quantity().id == "scalar:loss");
  CHECK(timeline.title() == "loss");
  const Values expected = scalarValues(test::nanRun(), "loss");
  CHECK(expected.size() == 20);
  CHECK(expected.at({1, 4}) == "nan");
  CHECK(valuesOf(timeline) == expected);
  CHECK(timeline.message().isEmpty());
}

TEST_CASE("A timeline of a statistic has the values of msdbg stats") {
  const auto document = test::openDocument(test::nanRun());
  Timeline timeline(*document);
  const std::string update = "update/network/conv2/SgdUpdate-op1:0", relu = "network/conv2/Relu-op1:0";
  struct Case {
    const char* id;
    std::string tensor;
    std::function<Json(const Json&)> of;
  };
  const Case all[] = {
      {"mean_abs", relu, [](const Json& s) { return s["mean_abs"]; }},
      {"min", relu, [](const Json& s) { return s["min"]; }},
      {"nan", relu, [](const Json& s) { return s["nan"]; }},
      {"zero", relu, [](const Json& s) { return 100 * s["zero"].get<double>() / s["count"].get<double>(); }},
      {"share_dead_units", relu,
       [](const Json& s) { return 100 * s["activation"]["share_dead_units"].get<double>(); }},
      {"change_max_abs", update, [](const Json& s) { return s["change"]["max_abs"]; }},
  };
  for (const Case& c : all) {
    CAPTURE(c.id);
    select(*document, c.tensor);
    timeline.setQuantity(QString("statistic:") + c.id);
    waitFor(timeline);
    const Values expected = statisticValues(test::nanRun(), c.tensor, c.of);
    CHECK(expected.size() == 20);
    CHECK(valuesOf(timeline) == expected);
    CHECK(timeline.title().endsWith(QString::fromStdString(c.tensor.substr(0, c.tensor.size() - 2))));
  }
}

TEST_CASE("A move of the position reads nothing, a tensor that was shown is not read again") {
  const auto document = test::openDocument(test::nanRun());
  Timeline timeline(*document);
  timeline.setQuantity("statistic:mean");
  CHECK_FALSE(timeline.reading());
  CHECK(timeline.message().contains("Select a tensor"));
  select(*document, "network/conv2/Conv-op1:0");
  CHECK(timeline.reading());
  waitFor(timeline);
  const Values first = valuesOf(timeline);
  REQUIRE(test::settle(*document));

  int told = 0;
  QObject::connect(&timeline, &Timeline::linesChanged, [&] { ++told; });
  document->cursor().setIteration(core::Iteration(7));
  document->cursor().setRank(core::Rank(1));
  CHECK(document->replay().idle());
  CHECK(told == 0);

  timeline.setQuantity("statistic:max");  // was read along
  CHECK_FALSE(timeline.reading());
  select(*document, "network/conv1/Conv-op1:0");
  CHECK(timeline.reading());
  select(*document, "network/conv2/Conv-op1:0");  // before the other one was read
  CHECK_FALSE(timeline.reading());
  timeline.setQuantity("statistic:mean");
  CHECK(valuesOf(timeline) == first);
  select(*document, "network/conv1/Conv-op1:0");
  waitFor(timeline);
  CHECK(valuesOf(timeline) ==
        statisticValues(test::nanRun(), "network/conv1/Conv-op1:0", [](const Json& s) { return s["mean"]; }));
}

TEST_CASE("A timeline says why a statistic does not exist for a tensor") {
  const auto document = test::openDocument(test::nanRun());
  Timeline timeline(*document);
  select(*document, "network/conv2/Conv-op1:0");
  timeline.setQuantity("statistic:share_dead_units");
  waitFor(timeline);
  CHECK(timeline.message().contains("activation functions"));
  timeline.setQuantity("statistic:no such");  // of another version: ignored
  CHECK(timeline.quantity().id == "statistic:share_dead_units");
}

TEST_CASE(
    "A metric that comes after its iteration was shown joins the timeline, one line from value to value") {
  auto made = test::filledRun(test::modelGraph(), 90);
  made->goesOn = true;
  made->ended = {};
  test::FakeDocument opened(std::move(made));
  Document& document = *opened.document;
  Timeline timeline(document);
  timeline.setQuantity("scalar:val_loss");  // nobody has said it yet
  waitFor(timeline);
  CHECK(timeline.quantity().id == "scalar:loss");
  const auto comes = [&](std::int64_t iteration, double value) {
    opened.run->will([=](test::FakeRun& run) { run.said["val_loss"][core::Iteration(iteration)] = value; });
    REQUIRE(test::eventually([&] { return document.facts().metrics.contains("val_loss"); }));
    REQUIRE(test::eventually([&] {
      return !timeline.reading() && timeline.valueAt(core::Rank(0), core::Iteration(iteration)) == value;
    }));
  };
  comes(29, 0.5);
  CHECK(timeline.quantity().id == "scalar:val_loss");
  comes(59, 0.25);
  comes(29, 0.75);  // said anew
  CHECK(valuesOf(timeline) ==
        Values{{{0, 0}, "-"}, {{0, 29}, "0.75"}, {{0, 59}, "0.25"}, {{0, 89}, "-"}});  // over the whole run
  CHECK(timeline.message().isEmpty());
  timeline.setQuantity("scalar:loss");
  waitFor(timeline);
  CHECK(valuesOf(timeline).size() == 90);
}

TEST_CASE("Damage costs its own part of a timeline and is named") {
  const test::TempDir folder;
  const auto run = test::copyOf(test::nanRun(), folder.path());
  for (const auto& file : std::filesystem::directory_iterator(run / "rank_1"))
    if (file.path().extension() == ".h5") std::filesystem::resize_file(file.path(), 1000);
  const auto document = test::openDocument(run);
  Timeline timeline(*document);
  waitFor(timeline);
  CHECK(timeline.quantity().id == "scalar:loss");
  CHECK(timeline.valueAt(core::Rank(0), core::Iteration(3)));
  CHECK_FALSE(timeline.valueAt(core::Rank(1), core::Iteration(3)));
  CHECK(timeline.message().contains("rank_1/segment_"));
  select(*document, "network/conv2/Conv-op1:0");
  timeline.setQuantity("statistic:mean_abs");
  waitFor(timeline);
  const Values expected = statisticValues(test::nanRun(), "network/conv2/Conv-op1:0",
                                          [](const Json& s) { return s["mean_abs"]; });
  for (const auto& [place, value] : valuesOf(timeline)) {
    CAPTURE(place.first, place.second);
    CHECK(value == (place.first == 0 ? expected.at(place) : "-"));
  }
  CHECK(timeline.valueAt(core::Rank(0), core::Iteration(3)));
  CHECK(timeline.message().contains("rank_1/segment_"));
}

TEST_CASE("The findings are marked at their iterations and lead to their place") {
  const auto document = test::openDocument(test::nanRun());
  Timeline timeline(*document);
  CHECK(timeline.marks().empty());
  test::check(*document);
  std::map<std::int64_t, std::size_t> expected;
  for (const watch::Hit& hit : document->findings().hits()) ++expected[hit.iteration.value];
  REQUIRE_FALSE(expected.empty());
  std::map<std::int64_t, std::size_t> marked;
  for (const TimelineMark& mark : timeline.marks()) marked[mark.iteration.value] = mark.count;
  CHECK(marked == expected);
  const TimelineMark& first = timeline.marks().front();
  CHECK(first.fault);
  CHECK(first.text.contains("Origin of NaN or Inf at network/conv2/Conv-op1, rank 1"));
  CHECK(timeline.placeOf(first) == document->findings().placeOf(*document->findings().report()->first));
}

TEST_CASE("The command of a timeline names the tensor") {
  const auto document = test::openDocument(test::nanRun());
  Timeline timeline(*document);
  CHECK(timeline.command() == "msdbg info " + document->runArgument());
  timeline.setQuantity("statistic:mean");
  CHECK(timeline.command().isEmpty());
  document->cursor().selectTensor(*document->graph().findTensor("grad(network/conv1/weight)"));
  const auto result = test::runCommand({"sh", "-c",
                                        "PATH=" + (test::buildDir() / "bin").string() + ":$PATH " +
                                            timeline.command().toStdString() + " --json"});
  CHECK(result.exitStatus == 0);
  CHECK(Json::parse(result.out)["tensors"].size() == 1);
}

}  // namespace
}  // namespace msdbg::app
