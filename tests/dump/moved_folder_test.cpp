// A recorder whose run is not at its path any more.
#include <catch2/catch.hpp>

#include "tests/dump/recorded_run.h"

using namespace msdbg;

static const core::Rank kRank0{0};

TEST_CASE("A recorder whose folder was moved leaves the run alone that took its place") {
  for (const bool inTeam : {false, true}) {
    const test::TempDir folder;
    const core::Graph graph = test::smallGraph(true);
    dump::RecordOptions options;
    options.write = dump::WritingWay{.inTeam = inTeam};
    test::writeInfo(folder / "run");
    const dump::Recorder::Place place{.run = folder / "run", .rank = kRank0};
    const auto recorder = dump::Recorder::create(place, options).orThrow();
    recorder->graphReady(graph);
    test::feed(*recorder, graph, 0);
    recorder->requestCommit();
    REQUIRE(test::waitUntil([&] { return recorder->bytesWritten() > 0; }));
    test::feed(*recorder, graph, 1);
    std::filesystem::rename(folder / "run", folder / "elsewhere");
    test::record(folder / "run", graph, options, {.iterations = 3});
    const std::string journal = test::readText(folder / "run/rank_0/journal");
    test::feed(*recorder, graph, 2);
    CHECK_FALSE(recorder->finish({.state = "finished"}).ok());
    CHECK_THAT(recorder->status().error().message(), Catch::Contains("another recording"));
    CHECK(test::readText(folder / "run/rank_0/journal") == journal);
    const auto other = test::openRun(folder / "run");
    CHECK(other->iterations(kRank0).size() == 3);
    CHECK(other->verify({}, {}).empty());
    CHECK(test::openRun(folder / "elsewhere")->verify({}, {}).empty());
  }
}
