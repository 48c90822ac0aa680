#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "core_engine/distributed/communicators.h"

using namespace msdbg::core;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

using RankWork = std::function<void(Communicator&)>;

// Catch's assertions are not thread-safe: ranks store what they saw, the test looks after they have ended.
void onRanks(int size, const RankWork& work) {
  auto all = makeThreadCommunicators(size);
  std::vector<std::jthread> threads;
  for (auto& own : all) threads.emplace_back([&work, mine = std::move(own)] { work(*mine); });
}

Tensor oneFloat(float value) { return Tensor::scalar(value); }

}  // namespace

TEST_CASE("a local communicator gives back what it is given") {
  const auto local = makeLocalCommunicator();
  Tensor output = oneFloat(0);
  REQUIRE(local->allreduceSum(oneFloat(-0.5f), output).ok());
  CHECK(output.at(0) == -0.5);
  CHECK(local->size() == 1);
  CHECK(local->barrier().ok());
}

TEST_CASE("without mpirun the communicator is local") {
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) {
    WARN("skipped: running under mpirun");
    return;
  }
  const auto communicator = makeCommunicator();
  REQUIRE(communicator.ok());
  CHECK((*communicator)->size() == 1);
}

TEST_CASE("an allreduce of integers or of different shapes is refused") {
  const auto local = makeLocalCommunicator();
  Tensor output(DType::Float32, {3});
  const Status shapes = local->allreduceSum(Tensor::zeros(DType::Float32, {2}), output);
  REQUIRE_FALSE(shapes.ok());
  CHECK(shapes.error().code() == ErrorCode::kUsage);
  CHECK_THAT(shapes.error().message(), Contains("float32[2]") && Contains("float32[3]"));
  Tensor integers(DType::Int64, {2});
  CHECK_FALSE(local->allreduceSum(Tensor::zeros(DType::Int64, {2}), integers).ok());
}

TEST_CASE("thread ranks sum in rank order") {
  std::array<double, 4> seen{};
  onRanks(4, [&](Communicator& ranks) {
    const std::array<float, 4> values = {1e8f, 1.0f, -1e8f, 3.0f};
    Tensor output = oneFloat(0);
    if (!ranks.allreduceSum(oneFloat(values[ranks.rank().index()]), output).ok()) return;
    seen[ranks.rank().index()] = output.at(0);
  });
  CHECK(seen == std::array<double, 4>{3, 3, 3, 3});  // the 1 is lost beside 1e8, the 3 comes after
}

TEST_CASE("thread ranks can broadcast and sum many times in a row") {
  std::array<std::int64_t, 3> good{};
  onRanks(3, [&](Communicator& ranks) {
    for (int round = 0; round < 300; ++round) {
      std::array<std::byte, 2> bytes;
      bytes.fill(static_cast<std::byte>(ranks.rank().value + round));
      Tensor output = oneFloat(0);
      if (!ranks.broadcast(bytes, Rank{round % 3}).ok()) return;
      if (!ranks.allreduceSum(oneFloat(static_cast<float>(round)), output).ok()) return;
      good[ranks.rank().index()] +=
          bytes[1] == static_cast<std::byte>(round % 3 + round) && output.at(0) == 3 * round;
    }
  });
  CHECK(good == std::array<std::int64_t, 3>{300, 300, 300});
}

TEST_CASE("a thread rank that leaves ends the wait of the others") {
  std::string message;
  onRanks(2, [&](Communicator& ranks) {
    if (ranks.rank() == Rank{1}) return ranks.abort(7);
    const Status status = ranks.barrier();
    if (!status.ok()) message = status.error().message();
  });
  CHECK(message == "rank 1 ended with status 7");
}

TEST_CASE("the watchdog ends a thread rank's wait and the missing ranks are named") {
  std::string message;
  double asked = 0;
  onRanks(3, [&](Communicator& ranks) {
    if (ranks.rank() != Rank{0}) return std::this_thread::sleep_for(1500ms);
    ranks.setWatchdog([&](double seconds) {
      asked = seconds;
      return std::string("too long");
    });
    const Status status = ranks.barrier();
    if (!status.ok()) message = status.error().message();
  });
  CHECK(message == "too long; ranks that did not come: 1, 2");
  CHECK(asked >= 1);
}
