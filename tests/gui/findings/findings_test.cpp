#include "app/presenters/findings.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/dump/foreign_program.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::app {
namespace {

using Json = nlohmann::json;

Json checkJson(const std::filesystem::path& run, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"check", run.string(), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return Json::parse(test::runMsdbg(arguments).out);
}

// What tells one hit from another, as the command writes it.
Json keyOf(const Json& hit) {
  return {hit["condition"], hit["severity"], hit["iteration"], hit["rank"], hit["tensor"], hit["node"]};
}
Json keyOf(const core::Graph& graph, const watch::Hit& hit) {
  return {hit.condition->id,
          hit.effectiveSeverity == watch::Severity::kFault ? "fault" : "hint",
          hit.iteration.value,
          hit.rank.value,
          graph.tensor(hit.tensor).fullName(),
          hit.node.valid() ? Json(graph.node(hit.node).name) : Json()};
}

void checkSameHits(const core::Graph& graph, const std::vector<watch::Hit>& hits, const Json& expected,
                   watch::Severity severity) {
  Json listed = Json::array(), wanted = Json::array();
  for (const watch::Hit& hit : hits)
    if (hit.effectiveSeverity == severity) listed.push_back(keyOf(graph, hit));
  for (const Json& hit : expected) wanted.push_back(keyOf(hit));
  CHECK(listed == wanted);
}

TEST_CASE("A check in the window finds what msdbg check finds, in the same order and words") {
  const auto document = test::openDocument(test::nanRun());
  const Json expected = checkJson(test::nanRun());
  test::check(*document);
  const Findings& findings = document->findings();
  REQUIRE(findings.state() == Findings::State::kDone);
  CHECK_FALSE(findings.stale());
  REQUIRE(findings.report()->first);
  CHECK(keyOf(document->graph(), *findings.report()->first) == keyOf(expected["first"]));
  CHECK(keyOf(document->graph(), findings.hits().front()) == keyOf(expected["first"]));
  checkSameHits(document->graph(), findings.hits(), expected["hits"], watch::Severity::kFault);
  checkSameHits(document->graph(), findings.hits(), expected["hints"], watch::Severity::kHint);
  CHECK(findings.report()->notEvaluable.size() == expected["not_evaluable"].size());
  CHECK(findings.report()->evaluated == expected["evaluated"].get<std::int64_t>());
  CHECK(Json(findings.consequences()) == expected["consequences"]);
  CHECK(findings.consequences().size() >= 2);
  CHECK(findings.firstInputs().size() == expected["first"]["inputs"].size());
}

TEST_CASE("A check in the window knows which iterations have a node, as the command does") {
  test::foreign::Program program;
  const core::TensorId score = program.recording->definitions()
                                   .source(test::foreign::info("score", {2, 1}, core::TensorRole::kInput))
                                   .orThrow();
  const core::NodeId late =
      program.node("Net/_softmax-op1", "_softmax", {score},
                   {test::foreign::info("", {2, 1}, core::TensorRole::kActivation)}, {program.line});
  for (std::int64_t i = 0; i < 2; ++i) program.iterate(i, true);
  REQUIRE(program.recording->begin(core::Iteration(2)).ok());
  REQUIRE(program.recording->ran(program.relu).ok());
  REQUIRE(program.recording->ran(late).ok());
  REQUIRE(program.recording->end({{"loss", 1.0}}).ok());
  program.recording->finish({.state = "finished"});
  const Json expected = checkJson(program.run, {"-w", "softmax_axis"});
  REQUIRE(expected["first"]["iteration"] == 2);
  const auto document = test::openDocument(program.run);
  test::check(*document);
  REQUIRE(document->findings().report()->first);
  CHECK(keyOf(document->graph(), *document->findings().report()->first) ==
        keyOf(checkJson(program.run)["first"]));
}

TEST_CASE("A run in which nothing is wrong has a report without findings") {
  const auto document = test::openDocument(test::cleanRun());
  test::check(*document);
  REQUIRE(document->findings().report());
  CHECK_FALSE(document->findings().report()->first);
  CHECK(document->findings().hits().empty());
  CHECK(document->findings().report()->evaluated > 1000);
}

TEST_CASE("Watchpoints of one's own are checked as the command checks them") {
  const test::TempDir folder;
  const auto run = test::copyOf(test::cleanRun(), folder.path());
  const auto document = test::openDocument(run);
  Findings& findings = document->findings();
  const std::string text = "gradient_vanishing:abs_mean_lt=10";
  findings.setEntries(
      {{*watch::parseWatchpoint(text), true}, {*watch::parseWatchpoint("tensor_overflow"), false}});
  CHECK(findings.stale());
  test::check(*document);
  const Json expected = checkJson(run, {"-w", text});
  REQUIRE(findings.report()->first);
  CHECK(keyOf(document->graph(), *findings.report()->first) == keyOf(expected["first"]));
  checkSameHits(document->graph(), findings.hits(), expected["hits"], watch::Severity::kFault);
  findings.resetToRecommended();
  CHECK(findings.isRecommendedSet());
  CHECK(findings.stale());
  CHECK(findings.report()->first);  // the last complete report stays
}

TEST_CASE("A cancelled check leaves the last complete report and can be started again") {
  const auto document = test::openDocument(test::nanRun());
  Findings& findings = document->findings();
  test::check(*document);
  const std::size_t hits = findings.hits().size();
  findings.recheck();
  CHECK(findings.state() == Findings::State::kChecking);
  findings.cancel();
  CHECK(findings.state() == Findings::State::kCancelled);
  CHECK(findings.stale());
  CHECK(findings.hits().size() == hits);
  CHECK(test::settle(*document));
  CHECK(findings.state() == Findings::State::kCancelled);
  test::check(*document);
  CHECK(findings.state() == Findings::State::kDone);
}

TEST_CASE("F8 walks the places of the hits forward and back, each once") {
  const auto document = test::openDocument(test::nanRun());
  test::check(*document);
  const Findings& findings = document->findings();
  const auto key = [](const Place& p) {
    return std::tuple(p.iteration, p.nodes.empty() ? -1 : p.nodes[0].value, p.rank);
  };
  std::set<decltype(key(Place()))> places;
  for (const watch::Hit& hit : findings.hits()) places.insert(key(findings.placeOf(hit)));

  Place at{core::Rank(0), core::Iteration(0), {}, {}, {}};
  std::vector<std::size_t> walked;
  while (const auto next = findings.nextHit(at, 1)) {
    REQUIRE(key(findings.placeOf(findings.hits()[*next])) > key(at));
    at = findings.placeOf(findings.hits()[*next]);
    walked.push_back(*next);
  }
  CHECK(walked.size() == places.size());
  walked.pop_back();
  std::vector<std::size_t> back;
  while (const auto next = findings.nextHit(at, -1)) {
    at = findings.placeOf(findings.hits()[*next]);
    back.push_back(*next);
  }
  std::ranges::reverse(back);
  CHECK(back == walked);
}

}  // namespace
}  // namespace msdbg::app
