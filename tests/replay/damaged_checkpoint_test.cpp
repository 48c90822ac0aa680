// Checkpoints on the way are evidence: what is stored of them is held against what training comes to there,
// and one that is damaged is named and passed over.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "replay/nearest_value.h"
#include "replay/recompute/hindsight.h"
#include "replay/recompute/prove.h"
#include "replay/recompute_way.h"
#include "tests/replay/damaged_state.h"
#include "tests/replay/recorded_program.h"

using namespace msdbg;
using namespace msdbg::core;
using replay::Proof;
using test::RecordedProgram;
using test::RecordedRun;

namespace {

constexpr int kIterations = 12;
constexpr const char* kWeight = "network/wide/weight:0";

/// Checkpoints 0, 5 and 10; the weight's value fills a chunk of its own in each.
RecordedProgram program(dump::Policy policy, std::vector<std::string> faults = {}) {
  RecordedProgram p;
  p.loss = [](Graph& g) {
    const Value x = g.input("x", {4, 200}), label = g.input("label", {4}, DType::Int64);
    Value h;
    {
      const auto scope = g.scope("wide");
      h = linear(x, {.out = 200});
    }
    const auto scope = g.scope("out");
    return softmaxCrossEntropy(linear(h, {.out = 3}), label);
  };
  p.batch = [](int iteration) {
    Tensor x(DType::Float32, {4, 200});
    for (std::size_t i = 0; i < 800; ++i)
      x.data<float>()[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i) + iteration));
    return std::vector<std::pair<std::string, Tensor>>{
        {"x", x}, {"label", Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{0, 1, 2, 0})}};
  };
  p.iterations = kIterations;
  p.optimizer = Sgd{.lr = 0.01, .momentum = 0.9};
  p.faults = std::move(faults);
  p.options.policy = policy;
  p.options.checkpointEvery = 5;
  p.options.batches = true;
  return p;
}

/// Opened anew, as whoever damaged it left it.
std::unique_ptr<replay::Run> damaged(RecordedRun& recorded, std::int64_t iteration) {
  test::damageState(recorded.folder(), 0, kWeight, iteration);
  return replay::Run::open(recorded.folder()).orThrow();
}

Proof proofOf(replay::Run& run) { return replay::prove(run, run.iterationSet(Rank(0)), {}).orThrow(); }

}  // namespace

TEST_CASE("A proof of all iterations reads the checkpoints that it comes to, and names one that is damaged") {
  RecordedRun recorded(program(dump::Policy::kRecord));
  const Proof sound = proofOf(recorded.run());
  CHECK(sound.equal());
  CHECK(sound.damaged.empty());
  const auto states = recorded.run().recomputable()->checkpoint(Rank(0), Iteration(5)).orThrow();
  CHECK(sound.states == static_cast<std::int64_t>(2 * states.tensors.size()));  // in 5 and 10
  const auto run = damaged(recorded, 5);
  const Proof proof = proofOf(*run);
  CHECK(proof.equal());
  CHECK(proof.unproved.empty());
  CHECK(proof.computed == run->iterationSet(Rank(0)));
  REQUIRE(proof.damaged.size() == 1);
  CHECK(proof.damaged.front().iterations == IterationSet{5});
  CHECK_THAT(proof.damaged.front().why, Catch::Contains("rank_0/segment_0") && Catch::Contains(kWeight));
  CHECK_FALSE(run->damage().empty());
}

TEST_CASE("A checkpoint contradicts an iteration of which nothing recorded tells that it went otherwise") {
  for (const dump::Policy policy : {dump::Policy::kNone, dump::Policy::kFlags}) {
    RecordedRun recorded(program(policy, {"wrong_backward@iteration=9,node=grad(network/wide/weight)"}));
    const Proof proof = proofOf(recorded.run());
    CHECK(proof.different == IterationSet{10});
    REQUIRE(!proof.mismatches.empty());
    const replay::Mismatch& first = proof.mismatches.front();
    CHECK(recorded.run().graph().tensor(first.tensor).fullName() == kWeight);
    CHECK_FALSE(first.hasHash());
    CHECK(first.values.has_value());
    CHECK(first.order < 0);
    CHECK_THAT(replay::verdictText(proof), Catch::StartsWith("a checkpoint contradicts"));
    // The training went on from the checkpoint, so nothing is left out.
    CHECK(proof.unproved.empty());
    CHECK(proof.computed == recorded.run().iterationSet(Rank(0)));
  }
}

TEST_CASE("Checkpoints alone prove the iterations between them, and nothing of what is in between") {
  RecordedRun recorded(program(dump::Policy::kNone));
  const Proof proof = proofOf(recorded.run());
  CHECK(proof.equal());
  CHECK_FALSE(proof.nothingCompared());
  CHECK_THAT(replay::verdictText(proof), Catch::Contains("from each checkpoint to the values of the next"));
}

TEST_CASE("A value is computed past a damaged checkpoint, from where it says, and the damage is told") {
  RecordedRun recorded(program(dump::Policy::kRecord));
  const auto run = damaged(recorded, 5);
  const TensorId weight = *run->graph().findTensor(kWeight);
  const auto hindsight = replay::Hindsight::create(*run, {}).orThrow();
  const auto computed = hindsight->compute(Rank(0), Iteration(7), weight).orThrow();
  CHECK(computed.evidence == replay::Hindsight::Evidence::kHash);
  CHECK(computed.cost.checkpoint == Iteration(0));
  CHECK(computed.cost.iterations == 8);
  REQUIRE(computed.passedOver.size() == 1);
  CHECK(computed.passedOver.begin()->first == Iteration(5));
  CHECK_THAT(computed.passedOver.begin()->second, Catch::Contains(kWeight));
  const auto other = hindsight->compute(Rank(0), Iteration(3), weight).orThrow();
  CHECK(other.passedOver.empty());
  CHECK(other.cost.iterations == 4);
}

TEST_CASE("A flipped bit of a small state costs the one checkpoint that it lies in") {
  for (const std::int64_t iteration : {0, 5, 10}) {
    RecordedRun recorded(program(dump::Policy::kRecord));
    test::damageState(recorded.folder(), 0, "network/out/bias:0", iteration);
    const auto run = replay::Run::open(recorded.folder()).orThrow();
    for (const std::int64_t each : {0, 5, 10})
      CHECK(run->recomputable()->checkpoint(Rank(0), Iteration(each)).ok() == (each != iteration));
    const Proof proof = proofOf(*run);
    CHECK(proof.equal());
    CHECK(proof.computed.size() == (iteration == 0 ? kIterations - 5 : kIterations));
  }
}

TEST_CASE("Once checkpoints are read, what only a damaged one leads to is not called computable") {
  RecordedRun recorded(program(dump::Policy::kRecord));
  const auto run = damaged(recorded, 0);
  replay::RecomputeWays ways(*run);
  CHECK(ways.reachable().size() == kIterations);  // as the journals say
  ways.readCheckpoints(*run);
  CHECK(ways.reachable() == std::vector<std::int64_t>{5, 6, 7, 8, 9, 10, 11});
  REQUIRE(ways.damagedCheckpoints().size() == 1);
  CHECK(ways.damagedCheckpoints().begin()->first == Iteration(0));
  CHECK(ways.longest()->iterations == 5);
  CHECK(replay::RecomputeWays(*run).toReadable(*run, Iteration(7))->checkpoint == Iteration(5));
  const auto refused = replay::RecomputeWays(*run).toReadable(*run, Iteration(3));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kDamaged);
  CHECK_THAT(refused.error().message(), Catch::Contains("cannot be read") && Catch::Contains("segment_0"));
}

TEST_CASE("The nearest value is one that can be read") {
  RecordedRun recorded(program(dump::Policy::kRecord));
  const auto run = damaged(recorded, 5);
  const TensorId weight = *run->graph().findTensor(kWeight);
  CHECK(replay::nearestValue(*run, Rank(0), Iteration(6), weight) == Iteration(5));
  CHECK(replay::nearestReadableValue(*run, Rank(0), Iteration(6), weight) == Iteration(10));
}
