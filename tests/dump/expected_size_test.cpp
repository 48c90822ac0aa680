// The size told before a recording is that of the recording.
#include "dump/policy/expected_size.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "dump/statistics_columns.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

RecordOptions optionsWith(const std::vector<std::string>& rules) {
  RecordOptions options = test::withoutReplay();
  for (const std::string& rule : rules) options.rules.push_back(parseRule(rule).orThrow());
  return options;
}

}  // namespace

TEST_CASE("The expected size is that of the chosen tensors and of the statistics columns") {
  const core::Graph graph = test::smallGraph();
  const auto all = expectedSize(graph, test::withoutReplay(), 1, 10);
  REQUIRE(all.ok());
  CHECK(all->tensors == 12);
  CHECK(all->fullTensors == 12);
  CHECK(all->iterations == 10);
  const std::uint64_t values = 4 * 32 + 8 * 8 + 4 * 20 + 8 * 3 + 16 + 3 * 4 * 40 + 40 + 2 * 4 + 4 + 4 * 20;
  CHECK(all->valueBytes == 10 * values);
  CHECK(all->statisticsBytes == 10 * 12 * 184);
  CHECK(all->iterationBytes == values + 12 * 184);
  RecordOptions stats;
  stats.policy = Policy::kStats;
  stats.every = 4;
  CHECK(expectedSize(graph, stats, 2, 10)->valueBytes == 0);
  CHECK(expectedSize(graph, stats, 2, 10)->statisticsBytes == 2 * 3 * 12 * 184);
}

TEST_CASE("The expected size is told by rule: tensors, iterations and bytes") {
  const auto size = expectedSize(test::smallGraph(),
                                 optionsWith({"*weight=full,ranks=0,every=5", "*=none,dtype=int64"}), 3, 12);
  REQUIRE(size.ok());
  REQUIRE(size->parts.size() == 3);
  const auto& weight = size->parts[0];
  CHECK(weight.tensors == 1);
  CHECK(weight.iterations == 3);  // 0, 5, 10
  CHECK(weight.valueBytes == 3 * 80);
  CHECK(weight.statisticsBytes == 3 * 184);
  CHECK(weight.iterationBytes == 80 + 184);
  CHECK(size->parts[1].tensors == 1);
  CHECK(size->parts[1].bytes() == 0);
  CHECK(weight.names == std::vector<std::string>{"network/a/weight"});
  CHECK(size->parts[1].names == std::vector<std::string>{"network/label"});
  const auto& rest = size->parts[2];
  CHECK(rest.names.size() == 11);
  CHECK(std::ranges::count(rest.names, "network/Mask-op1:1") == 1);
  CHECK(std::ranges::count(rest.names, "next(network/a/weight)") == 1);
  CHECK(rest.rule.policy == Policy::kStats);
  CHECK(rest.tensors == 11);
  CHECK(rest.iterations == 12);
  CHECK(rest.statisticsBytes == (12 * 3 * 11 - 3) * 184);
  CHECK(size->fullTensors == 1);
  CHECK(size->iterationBytes == 80 + 3 * 11 * 184);
}

TEST_CASE("The expected bytes are those that a recording then has, whatever the rules") {
  const core::Graph graph = test::smallGraph();
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"*weight=full,every=4", "*=stats,kind=input"},
      {"*=full,every=3,iterations=2-7,11-", "*=none,op=Mask"},
      {"*=full,ranks=1,iterations=0,4-5", "*=none,every=2", "*Relu*=full,every=7"}};
  for (const auto& rules : cases) {
    const test::TempDir folder;
    RecordOptions options = optionsWith(rules);
    options.iterations = *core::IndexList::parse("1-6,8-40");
    for (const std::int64_t rank : {0, 1})
      test::record(folder / "run", graph, options, {.iterations = 23, .rank = rank, .ranks = 2});
    const auto size = expectedSize(graph, options, 2, 23);
    const auto reader = test::openRun(folder / "run");
    CAPTURE(rules);
    CHECK(size->valueBytes == reader->storage().rawBytes);
    CHECK(size->iterations == static_cast<std::int64_t>(reader->iterations(core::Rank(1)).size()));
  }
}

TEST_CASE("What a run takes from an iteration on is what it takes in all less what it took before") {
  const core::Graph graph = test::smallGraph();
  RecordOptions options = optionsWith({"*=full,every=3,iterations=2-7,11-", "*weight=none,every=4"});
  options.iterations = *core::IndexList::parse("1-6,8-40");
  for (const std::int64_t first : {1, 6, 11, 30}) {
    const auto all = expectedSize(graph, options, 2, first + 9);
    const auto before = expectedSize(graph, options, 2, first);
    const auto rest = expectedSize(graph, options, 2, 9, {}, first);
    CAPTURE(first);
    CHECK(rest->valueBytes == all->valueBytes - before->valueBytes);
    CHECK(rest->statisticsBytes == all->statisticsBytes - before->statisticsBytes);
    CHECK(rest->iterations == all->iterations - before->iterations);
  }
}

TEST_CASE("A billion steps are planned at once") {
  RecordOptions options = optionsWith({"*=full,every=1000,iterations=0-999,500000000-", "*=none,every=7"});
  options.every = 10;
  const auto size = expectedSize(test::smallGraph(), options, 64, 1'000'000'000);
  REQUIRE(size.ok());
  CHECK(size->iterations == 100'000'000);
  CHECK(size->parts[0].iterations == 1 + 500'000);
  // multiples of 70, those apart that are the first rule's: 0 and the multiples of 7000 from 500,000,000
  CHECK(size->parts[1].iterations == 14'285'715 - 1 - 71'429);
}

TEST_CASE("What thinning will leave is told: half of the room whole, a quarter every 10th, and so on") {
  RecordOptions options = optionsWith({"*=stats"});
  options.maxBytes = 2'000'000;
  constexpr std::int64_t kRow = 12 * 184;
  const auto size = expectedSize(test::smallGraph(), options, 2, 2000);
  const ExpectedThinning thinning = expectedThinning(*size, options, 2);
  const std::int64_t room = 1'000'000 - static_cast<std::int64_t>(thinning.alwaysBytes);
  CHECK(thinning.alwaysBytes > 2000 * 100);
  REQUIRE(thinning.parts.size() == 3);
  CHECK(thinning.parts[0].step == 1);
  CHECK(thinning.parts[0].iterations == room / 2 / kRow);
  CHECK(thinning.parts[1].step == 10);
  CHECK(thinning.parts[1].iterations == room / 4 / kRow * 10);
  CHECK(thinning.parts[2].iterations == 2000 - thinning.parts[0].iterations - thinning.parts[1].iterations);
  options.maxBytes = 20'000'000;
  CHECK(expectedThinning(*size, options, 2).parts.empty());
}

TEST_CASE("The work for the file system is told by rank and second") {
  RecordOptions options;
  const ExpectedWork each = expectedWork(options, 1);
  CHECK(each.files > 1);
  CHECK(each.fsyncs == Approx(3 * each.files));
  options.commitSeconds = 10;
  CHECK(expectedWork(options, 64).files == Approx(6.4 * each.files));
}
