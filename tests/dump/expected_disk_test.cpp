// What a long recording leaves on the disk, told from a short one.
#include "dump/policy/expected_disk.h"

#include <catch2/catch.hpp>

#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

MeasuredTraining measuredOf(core::Graph graph) {
  return {.graph = std::move(graph), .valueBytes = {}, .scalars = 3, .stepSeconds = 0.5, .graphBytes = 5000};
}

RecordOptions statisticsWithin(std::uint64_t bytes) {
  RecordOptions options = test::withoutReplay();
  options.policy = Policy::kStats;
  options.maxBytes = bytes;
  return options;
}

// As many tensors as a model of some hundred layers has, at level train.
core::Graph wideGraph(std::int64_t tensors) {
  core::Graph graph("network");
  for (std::int64_t i = 0; i < tensors; ++i)
    graph.parameter("weight" + std::to_string(i), {4, 4}, core::Init::zeros());
  return graph;
}

}  // namespace

TEST_CASE("5,000 tensors, 64 ranks and 100,000 iterations of statistics stay within 20 GB") {
  const MeasuredTraining measured = measuredOf(wideGraph(5000));
  const RecordOptions options = statisticsWithin(20'000'000'000);
  const auto size = expectedSize(measured, options, 64, 100'000);
  REQUIRE(size.ok());
  CHECK(size->statisticsBytes == 5000ull * 64 * 100'000 * 184);  // 5.9 TB
  const ExpectedDisk disk = expectedDisk(*size, measured, options, 64);
  CHECK(disk.bytes() < 20'000'000'000);
  CHECK(disk.bytes() > 15'000'000'000);
  const ExpectedThinning thinning = expectedThinning(*size, options, 64);
  REQUIRE(thinning.parts.size() >= 4);
  CHECK(thinning.parts[0].iterations > 100);
  CHECK(disk.seconds == Approx(50'000));
  CHECK(disk.files == Approx(64 * 50'000 * 8 / 7.0));
  CHECK(disk.fsyncs == Approx(3 * disk.files));
}

TEST_CASE("Nothing thins, nor are there lists of it in the journal, where all fits") {
  const MeasuredTraining measured = measuredOf(test::smallGraph());
  const RecordOptions options = statisticsWithin(1'000'000'000);
  const auto size = expectedSize(measured, options, 2, 1000);
  const ExpectedDisk disk = expectedDisk(*size, measured, options, 2);
  CHECK(disk.rowBytes >= size->statisticsBytes);
  CHECK(disk.journalBytes < 2 * 1000 * 200);
  CHECK(disk.graphBytes == 5000);
  CHECK(disk.valueBytes == 0);
  const RecordOptions less = statisticsWithin(2'000'000);
  CHECK(expectedDisk(*expectedSize(measured, less, 2, 1000), measured, less, 2).bytes() < 2'000'000);
}

TEST_CASE("Values take what was measured, not what their shapes say") {
  MeasuredTraining measured = measuredOf(test::smallGraph());
  RecordOptions options = test::withoutReplay();
  measured.valueBytes.assign(measured.graph.tensors().size(), 7);
  CHECK(expectedSize(measured, options, 3, 10)->valueBytes == 7 * 12 * 3 * 10);
}

TEST_CASE("A segment has an iteration at least, however long that takes") {
  const RecordOptions options;
  CHECK(expectedWork(options, 2, 0.01).files == Approx(expectedWork(options, 2).files));
  CHECK(expectedWork(options, 2, 10).files == Approx(expectedWork(options, 2).files / 10));
}
