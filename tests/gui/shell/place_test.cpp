#include <catch2/catch.hpp>

#include "app/presenters/place_json.h"
#include "app/presenters/start_place.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"

namespace msdbg::test {
namespace {

std::string errorOf(const app::Document& document, const app::StartPlace& start) {
  const auto place = app::resolveStart(document.facts(), start);
  return place.ok() ? "" : place.error().message();
}

}  // namespace

TEST_CASE("A place is the same after it was kept and read again", "[gui]") {
  const auto document = openDocument(nanRun());
  const core::Graph& graph = document->graph();
  document->cursor().setRank(core::Rank(1));
  document->cursor().setIteration(core::Iteration(4));
  document->cursor().selectNode(*graph.findNode("network/conv2/Conv-op1"));
  const app::Place place = document->cursor().place();
  REQUIRE(place.tensor.valid());
  REQUIRE(place.line);
  CHECK(app::placeFrom(graph, app::placeJson(graph, place)) == place);
}

TEST_CASE("A kept place that names what is gone, or is no place, is read as far as it goes", "[gui]") {
  const auto document = openDocument(nanRun());
  const app::Place place =
      app::placeFrom(document->graph(), {{"iteration", 4}, {"rank", 1}, {"tensor", "no/such:0"}});
  CHECK(place.iteration == core::Iteration(4));
  CHECK_FALSE(place.tensor.valid());
  CHECK(place.nodes.empty());
  document->cursor().moveTo(
      app::placeFrom(document->graph(), {{"iteration", "x"}, {"rank", 99}, {"nodes", 3}}));
  CHECK(document->cursor().rank() == core::Rank(0));
  CHECK(document->cursor().iteration() == core::Iteration(0));
}

TEST_CASE("The window starts where the command line says", "[gui]") {
  const auto document = openDocument(nanRun());
  const core::Graph& graph = document->graph();
  const auto place = app::resolveStart(document->facts(), {"*conv2/Conv-op1", 3, 1});
  REQUIRE(place.ok());
  CHECK(place->iteration == core::Iteration(3));
  CHECK(place->rank == core::Rank(1));
  CHECK(place->nodes == std::vector{*graph.findNode("network/conv2/Conv-op1")});
  CHECK(graph.tensor(place->tensor).producer == place->nodes.front());

  const auto& node = graph.node(place->nodes.front());
  const core::Frame* frame = graph.userFrame(node.frames);
  const auto line =
      app::resolveStart(document->facts(), {"lenet5.cpp:" + std::to_string(frame->line), {}, {}});
  REQUIRE(line.ok());
  CHECK(line->nodes.front() == node.id);
  CHECK(line->line == app::SourceLine{frame->file, frame->line});
}

TEST_CASE("A start that the run does not have says what it has", "[gui]") {
  const auto document = openDocument(nanRun());
  CHECK_THAT(errorOf(*document, {"", 99, {}}), Catch::Contains("iteration 99") && Catch::Contains("0 to 9"));
  CHECK_THAT(errorOf(*document, {"", {}, 7}), Catch::Contains("rank 7") && Catch::Contains("0, 1"));
  CHECK_THAT(errorOf(*document, {"conv2/Convv", {}, {}}), Catch::Contains("conv2/Conv"));
}

}  // namespace msdbg::test
