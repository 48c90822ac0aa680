#include "dump/writer/disk_space.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/dump/recorded_run.h"

using namespace msdbg;

TEST_CASE("What stays free by default is 5 % of the disk, at most 1 GiB") {
  CHECK(dump::defaultKeepFree(20u << 20) == 1u << 20);
  CHECK(dump::defaultKeepFree(1ull << 40) == 1ull << 30);
  CHECK(dump::spareBytes({.total = 1000, .free = 300}, {}) == 250);
  CHECK(dump::spareBytes({.total = 1000, .free = 300}, 0) == 300);
  CHECK(dump::spareBytes({.total = 1000, .free = 300}, 400) == 0);
}

TEST_CASE("The space of a run that is not there yet is that of the nearest folder") {
  const test::TempDir folder;
  const auto here = dump::diskSpace(folder.path()), there = dump::diskSpace(folder / "a/b/run.msdbg");
  REQUIRE(here.ok());
  REQUIRE(there.ok());
  CHECK(here->total == there->total);
  CHECK(here->free > 0);
}

TEST_CASE("What keeps a folder from being written to is said with what to do") {
  const test::TempDir folder;
  CHECK(dump::whatToDo(folder.path()) == "");
  CHECK_THAT(dump::whatToDo(folder / "gone"), Catch::Contains("removed or renamed"));
}

TEST_CASE(
    "When not even statistics fit on the disk, training is not held up, and ends: nothing was recorded") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  test::writeInfo(folder / "run");
  dump::RecordOptions options;
  options.keepFree = 1ull << 60;
  options.bufferBytes = 3u << 20;
  auto recorder = dump::Recorder::create(
      {.run = folder / "run", .rank = core::Rank(0), .patience = std::chrono::milliseconds(300)}, options);
  REQUIRE(recorder.ok());
  (*recorder)->graphReady(graph);
  for (std::int64_t i = 0; i < 10; ++i) test::feed(**recorder, graph, i);
  CHECK(test::waitUntil([&] { return (*recorder)->endsTraining(); }));
  const core::Status end = (*recorder)->finish({.state = "finished"});
  REQUIRE_FALSE(end.ok());
  CHECK_THAT(end.error().message(), Catch::Contains("iteration 0") && Catch::Contains("--keep-free") &&
                                        Catch::Contains("statistics"));
  auto reader = test::openRun(folder / "run");
  CHECK(reader->iterations(core::Rank(0)).empty());
  CHECK(reader->damage().empty());
}
