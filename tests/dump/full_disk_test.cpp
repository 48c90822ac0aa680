// The recorder on a disk that is full for a while, for longer than memory lasts, and to the end.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace std::chrono_literals;
using test::openRun;
using test::segmentsIn;

namespace {

const core::Rank kRank0{0};

// Files may not grow beyond 10 kB meanwhile, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    getrlimit(RLIMIT_FSIZE, &m_before);
    const rlimit small = {10000, m_before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &m_before); }

 private:
  rlimit m_before{};
};

std::unique_ptr<dump::Recorder> onDiskThatFills(const std::filesystem::path& run, const core::Graph& graph,
                                                std::uint64_t bufferBytes) {
  test::writeInfo(run);
  dump::RecordOptions options;
  options.bufferBytes = bufferBytes;
  auto recorder = dump::Recorder::create(
      {.run = run, .rank = kRank0, .patience = std::chrono::milliseconds(300)}, options);
  REQUIRE(recorder.ok());
  (*recorder)->graphReady(graph);
  test::feed(**recorder, graph, 0);
  (*recorder)->requestCommit();
  REQUIRE(test::waitUntil([&] { return segmentsIn(run) == 1; }));
  return std::move(*recorder);
}

}  // namespace

TEST_CASE("A disk that is full for a while costs nothing") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  auto recorder = onDiskThatFills(folder / "run", graph, 64u << 20);
  {
    const FullDisk full;
    for (std::int64_t i = 1; i < 5; ++i) test::feed(*recorder, graph, i);
    recorder->requestCommit();
    std::this_thread::sleep_for(300ms);
    CHECK(segmentsIn(folder / "run") == 1);
    test::feed(*recorder, graph, 5);
  }
  CHECK(recorder->finish({.state = "finished"}).ok());
  auto reader = openRun(folder / "run");
  CHECK(reader->iterations(kRank0).size() == 6);
  CHECK(reader->gaps().empty());
  for (std::int64_t i = 0; i < 6; ++i) CHECK(test::firstDifference(*reader, 0, i) == "");
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("A disk that is full for longer than memory lasts costs values, then iterations, and says which") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  auto recorder = onDiskThatFills(folder / "run", graph, 64u << 10);
  std::int64_t fed = 1;
  {
    const FullDisk full;
    for (; fed < 60; ++fed) test::feed(*recorder, graph, fed);
  }
  for (; fed < 70; ++fed) test::feed(*recorder, graph, fed);
  const core::Status end = recorder->finish({.state = "finished"});
  REQUIRE_FALSE(end.ok());
  auto reader = openRun(folder / "run");
  const auto iterations = reader->iterations(kRank0);
  std::int64_t missing = 0;
  for (const dump::RecordedGap& gap : reader->gaps()) {
    CHECK_THAT(gap.line.why, Catch::Contains("File too large"));
    missing += static_cast<std::int64_t>(gap.line.iterations.size());
  }
  CHECK(missing > 0);
  CHECK(static_cast<std::int64_t>(iterations.size()) + missing == 70);
  CHECK(iterations.back().iteration == 69);
  CHECK(test::firstDifference(*reader, 0, 0) == "");
  CHECK(test::firstDifference(*reader, 0, 69) == "");
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("A disk that stays full to the end costs what came after, says so, and harms nothing before") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph(true);
  auto recorder = onDiskThatFills(folder / "run", graph, 64u << 20);
  core::Status end;
  {
    const FullDisk full;
    for (std::int64_t i = 1; i < 6; ++i) test::feed(*recorder, graph, i);
    end = recorder->finish({.state = "finished"});
  }
  REQUIRE_FALSE(end.ok());
  CHECK_THAT(end.error().message(), Catch::Contains("iterations 1-5 are missing") &&
                                        Catch::Contains("rank_0/") && Catch::Contains("File too large"));
  CHECK(recorder->status().ok());
  auto reader = openRun(folder / "run");
  CHECK(reader->iterations(kRank0).size() == 1);
  REQUIRE(reader->gaps().size() == 1);
  CHECK(reader->gaps()[0].line.iterations.text() == "1-5");
  CHECK(test::firstDifference(*reader, 0, 0) == "");
  CHECK(reader->verify({}, {}).empty());
}
