#include <catch2/catch.hpp>
#include <thread>

#include "core_engine/distributed/communicators.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using msdbg::test::PlainRun;

namespace {

std::unique_ptr<DataLoader> digits(std::int64_t samples = 0) {
  return std::move(makeLoader("digits", {.image = {1, 8, 8}, .batch = 10, .samples = samples})).value();
}

std::vector<std::int64_t> iterationsOf(Shard shard) {
  std::vector<std::int64_t> seen;
  for (const Batch& batch : shard) seen.push_back(batch.iteration.value);
  return seen;
}

}  // namespace

TEST_CASE("a shard has the steps asked for, else those of the run, else one epoch") {
  PlainRun run;
  const auto data = digits(45);
  CHECK(iterationsOf(run.shard(*data, 2)) == std::vector<std::int64_t>{0, 1});
  CHECK(iterationsOf(run.shard(*data)) == std::vector<std::int64_t>{0, 1, 2, 3});
  run.stepsWanted = 3;
  CHECK(iterationsOf(run.shard(*data)) == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("a shard ends before the iteration at which a stop is requested") {
  PlainRun run;
  run.stopAfter = 2;
  CHECK(iterationsOf(run.shard(*digits(), 10)) == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("when one rank is asked to stop all stop at the same iteration, each with its own rows") {
  auto ranks = makeThreadCommunicators(2);
  const auto data = digits(),
             whole = std::move(makeLoader("digits", {.image = {1, 8, 8}, .batch = 20})).value();
  std::vector<std::int64_t> seen[2];
  Tensor first[2];
  const auto work = [&](std::size_t rank) {
    PlainRun run(ranks[rank].get());
    run.stopAfter = rank == 1 ? 3 : -1;
    for (const Batch& batch : run.shard(*data, 10)) {
      seen[rank].push_back(batch.iteration.value);
      if (!first[rank].valid()) first[rank] = *batch.find("label");
    }
  };
  { std::jthread a(work, 0), b(work, 1); }
  CHECK(seen[0] == std::vector<std::int64_t>{0, 1, 2});
  CHECK(seen[1] == seen[0]);
  const Batch all = whole->batch(Iteration{0}, Rank{0}, 1);
  for (std::int64_t row = 0; row < 20; ++row)
    CHECK(all.find("label")->at(row) == first[row / 10].at(row % 10));
}
