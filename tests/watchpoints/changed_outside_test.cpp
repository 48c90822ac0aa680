// What a program does to weights and gradients outside of backward pass and optimizer, as the recorder of
// PyTorch shows it: a weight that is overwritten once, a gradient that is never set to zero, a change on one
// rank.
#include <catch2/catch.hpp>

#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using Catch::Contains;
using watch::Severity;

namespace {

constexpr int kIterations = 14, kAt = 9;

/// Three layers, each with its optimizer's update; with `writes`, an operator of the program's writes to the
/// first weight before the optimizer reads it.
struct ThreeWeights {
  explicit ThreeWeights(bool writes = false) {
    const TensorId rate = program.source(TensorRole::kHyperparameter, "optimizer/learning_rate", {});
    TensorId x = program.x;
    for (const char* scope : {"Net/a", "Net/b", "Net/c"}) {
      TensorId weight = program.source(TensorRole::kParameter, std::string(scope) + "/weight", {16, 16});
      weights.push_back(weight);
      if (writes && weights.size() == 1) {
        TensorInfo info = floats(TensorRole::kUpdated, "", {16, 16});
        info.updateOf = weight;
        written = weight = program.node("mul_", "main", Phase::kForward, {weight}, info);
      }
      x = program.layer(scope, x, weight);
      const TensorId gradient = program.gradient(scope, x, weights.back(), x);
      TensorInfo next = floats(TensorRole::kUpdated, "", {16, 16});
      next.updateOf = weights.back();  // as in the iterations in which nothing writes
      updates.push_back(program.node("SGD", std::string("update/") + scope, Phase::kUpdate,
                                     {weight, gradient, rate}, next, {}, "torch.optim"));
    }
  }

  /// Each weight is what its update before made; the steps are small.
  void record(FakeSource& source, int ranks = 1) const {
    for (int rank = 0; rank < ranks; ++rank)
      for (int k = 0; k < kIterations; ++k)
        for (std::size_t i = 0; i < weights.size(); ++i) {
          source.record(Rank(rank), Iteration(k), weights[i], numbers({16, 16}, 0.1 + 0.001 * k));
          source.record(Rank(rank), Iteration(k), updates[i], numbers({16, 16}, 0.1 + 0.001 * (k + 1)));
        }
  }

  Program program;
  std::vector<TensorId> weights, updates;
  TensorId written;
};

std::string overwritten(FakeSource& source) { return said(source, "weight_overwritten", Severity::kHint); }

}  // namespace

TEST_CASE("A weight that is another one than its update made is named once, and training is not") {
  const ThreeWeights three;
  FakeSource source(three.program.graph, 1, kIterations);
  three.record(source);
  CHECK(overwritten(source).empty());
  source.record(Rank(0), Iteration(kAt), three.weights[1], numbers({16, 16}, 1));
  CHECK_THAT(overwritten(source),
             Contains("something else than its optimizer changes it between the steps of "
                      "iterations 8 and 9, only this once"));
  SECTION("a little, as weights that are clipped") {
    source.record(Rank(0), Iteration(kAt), three.weights[1], numbers({16, 16}, 0.1091));
    CHECK(overwritten(source).empty());
  }
  SECTION("as training begins, as a clipping that cuts what was drawn") {
    source.record(Rank(0), Iteration(kAt), three.weights[1], numbers({16, 16}, 0.1 + 0.001 * kAt));
    source.record(Rank(0), Iteration(1), three.weights[1], numbers({16, 16}, 0.05));
    CHECK(overwritten(source).empty());
  }
  SECTION("again, as a schedule of resets does") {
    source.record(Rank(0), Iteration(kAt + 2), three.weights[1], numbers({16, 16}, 1));
    CHECK(overwritten(source).empty());
  }
  SECTION("most at once, as a checkpoint that is loaded") {
    source.record(Rank(0), Iteration(kAt), three.weights[2], numbers({16, 16}, 1));
    CHECK(overwritten(source).empty());
  }
}

TEST_CASE("Weights that are again what training began with are a hint, if it goes on so") {
  constexpr int kLong = 60;
  const auto returning = [](auto isFirst) {
    const ThreeWeights three;
    FakeSource source(three.program.graph, 1, kLong);
    for (int k = 0; k < kLong; ++k)
      for (std::size_t i = 0; i < 3; ++i) {
        const double size = isFirst(k) ? 0.1 : 0.1 + 0.001 * k;
        source.record(Rank(0), Iteration(k), three.weights[i], numbers({16, 16}, size));
        source.record(Rank(0), Iteration(k), three.updates[i], numbers({16, 16}, 0.1 + 0.001 * (k + 1)));
      }
    return said(source, "weight_overwritten", Severity::kHint);
  };
  CHECK_THAT(returning([](int k) { return k % 15 == 0; }),
             Contains("it and 2 more weights are again, bit for bit, what training began with, in iterations "
                      "15, 30, 45"));
  CHECK_FALSE(contains(returning([](int k) { return k % 30 == 0; }), "again, bit for bit"));  // once
  CHECK_FALSE(
      contains(returning([](int k) { return k % 6 == 0 && k < 20; }), "again, bit for bit"));  // early
  CHECK_FALSE(
      contains(returning([](int k) { return k % 2 == 0; }), "again, bit for bit"));  // its way to train
  CHECK_FALSE(contains(returning([](int k) { return k == 0; }), "again, bit for bit"));
}

TEST_CASE("The operator that overwrites a weight is named where operators are recorded") {
  const ThreeWeights three(true);
  FakeSource source(three.program.graph, 1, kIterations);
  three.record(source);
  source.record(Rank(0), Iteration(kAt), three.written, numbers({16, 16}, 1));
  const watch::CheckReport report =
      check(source, {watch::parseWatchpoint("weight_overwritten:recommended").value()}, {});
  REQUIRE(report.hints.size() == 1);
  CHECK(report.hints[0].tensor == three.written);
  CHECK(report.hints[0].iteration == Iteration(kAt));
  CHECK_THAT(report.hints[0].detail, Contains("it changes Net/a/weight outside of the optimizer's steps"));
  for (int k = 0; k < kIterations; ++k)
    source.record(Rank(0), Iteration(k), three.written, numbers({16, 16}, 1));
  CHECK(overwritten(source).empty());  // its way to train
}

TEST_CASE("Gradients that the recorder saw kept from the step before are a fault, from the second time on") {
  const ThreeWeights three;
  FakeSource source(three.program.graph, 1, kIterations);
  three.record(source);
  const auto asked = [&] { return said(source, "weight_change_too_large", Severity::kFault); };
  CHECK(asked().empty());
  source.setScalar(0, 1, "gradients_kept", 1);
  CHECK(asked().empty());
  source.setScalar(0, 2, "gradients_kept", 1);
  CHECK_THAT(asked(), Contains("nobody sets gradients to zero between two steps"));
}

TEST_CASE("A rank that alone changes a weight is the one that is wrong, at its own line") {
  const ThreeWeights plain, writing(true);
  FakeSource source(plain.program.graph, 2, kIterations);
  source.setGraph(Rank(1), Iteration(0), writing.program.graph);
  for (int rank = 0; rank < 2; ++rank)
    for (int k = 0; k < kIterations; ++k)
      for (std::size_t i = 0; i < 3; ++i) {
        source.record(Rank(rank), Iteration(k), plain.weights[i], numbers({16, 16}, 0.1));
        source.record(Rank(rank), Iteration(k), plain.updates[i],
                      numbers({16, 16}, rank == 1 && i == 0 ? 1 : 0.1));
      }
  const TensorId written = source.id("main/mul_-op1");
  for (int k = 0; k < kIterations; ++k) source.record(Rank(1), Iteration(k), written, numbers({16, 16}, 1));
  for (const TensorId update : plain.updates)
    REQUIRE(source.graph().tensor(update).role == TensorRole::kUpdated);
  const watch::CheckReport report =
      check(source, {watch::parseWatchpoint("rank_divergence:recommended").value()}, {});
  REQUIRE(report.first);
  CHECK(report.first->rank == Rank(1));
  CHECK(report.first->writtenAt == written);
  CHECK_THAT(report.first->detail,
             Contains("was changed by main/mul_-op1, which the other ranks do not compute"));
}

}  // namespace msdbg::test
