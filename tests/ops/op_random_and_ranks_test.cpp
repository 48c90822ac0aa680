// Dropout's random numbers and Allreduce's ranks.
#include <catch2/catch.hpp>
#include <thread>

#include "core_engine/distributed/communicators.h"
#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

Tensor ones(std::int64_t count) {
  return tensorOf({count}, std::vector<double>(static_cast<std::size_t>(count), 1.0));
}

std::vector<double> mask(std::int64_t count, const RunState& state, double ratio = 0.3) {
  return valuesOf(callOp("Dropout", {ones(count)}, {{"ratio", ratio}}, state)[1]);
}

}  // namespace

TEST_CASE("Dropout drops its share and keeps the mean") {
  const auto out = callOp("Dropout", {ones(100000)}, {{"ratio", 0.3}}, {.seed = 7});
  double kept = 0, sum = 0;
  for (std::int64_t i = 0; i < 100000; ++i) {
    kept += out[1].at(i);
    sum += out[0].at(i);
    REQUIRE(out[0].at(i) == (out[1].at(i) != 0 ? 1.0 / (1.0 - 0.3) : 0.0));
  }
  CHECK(kept / 100000 == Approx(0.7).margin(0.006));  // four standard deviations
  CHECK(sum / 100000 == Approx(1).margin(0.01));
}

TEST_CASE("Dropout's mask depends on seed, iteration and place, and on nothing else") {
  const RunState state{.iteration = Iteration(3), .seed = 7};
  RunState other = state;
  CHECK(mask(1000, state) == mask(1000, other));
  other.threads = 2;
  CHECK(mask(1000, state) == mask(1000, other));
  other = state;
  other.seed = 8;
  CHECK(mask(1000, state) != mask(1000, other));
  other = state;
  other.iteration = Iteration(4);
  CHECK(mask(1000, state) != mask(1000, other));
}

TEST_CASE("The masks of two ranks are the two halves of one rank's mask of the global batch") {
  const RunState first{.rank = Rank(0), .ranks = 2, .seed = 7},
      second{.rank = Rank(1), .ranks = 2, .seed = 7};
  std::vector<double> both = mask(500, first);
  const std::vector<double> rest = mask(500, second);
  both.insert(both.end(), rest.begin(), rest.end());
  CHECK(both == mask(1000, {.seed = 7}));
}

TEST_CASE("Dropout is the identity outside training") {
  const Tensor x = tensorOf({3}, {1, -2, 3});
  const auto out = callOp("Dropout", {x}, {{"ratio", 0.9}}, {.training = false});
  CHECK(sameBytes(out[0], x));
  CHECK(valuesOf(out[1]) == std::vector<double>{1, 1, 1});
}

TEST_CASE("DropoutGrad passes what Dropout kept, with the same factor") {
  const auto out = callOp("Dropout", {ones(50)}, {{"ratio", 0.25}}, {.seed = 3});
  CHECK(sameBytes(callOp("DropoutGrad", {ones(50), out[1]}, {{"ratio", 0.25}})[0], out[0]));
}

TEST_CASE("Allreduce sums over ranks in rank order and copies on one rank") {
  const Tensor x = tensorOf({2}, {1, -2});
  CHECK(sameBytes(callOp("Allreduce", {x})[0], x));

  // (1e16 + 1) - 1e16 is 0 in rank order; another order gives 1.
  const double parts[] = {1e16, 1, -1e16};
  auto communicators = makeThreadCommunicators(3);
  std::vector<Tensor> sums(3);
  std::vector<std::thread> ranks;
  for (int r = 0; r < 3; ++r) {
    ranks.emplace_back([&, r] {
      const RunState state{
          .rank = Rank(r), .ranks = 3, .communicator = communicators[static_cast<std::size_t>(r)].get()};
      sums[static_cast<std::size_t>(r)] =
          callOp("Allreduce", {tensorOf({2}, {parts[r], r + 1.0})}, {}, state)[0];
    });
  }
  for (std::thread& t : ranks) t.join();
  for (const Tensor& sum : sums) CHECK(valuesOf(sum) == std::vector<double>{0, 6});
}
