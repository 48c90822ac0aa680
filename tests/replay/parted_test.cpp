// A recorded training and the one that is computed again part, and not everything was recorded with a hash:
// what follows is not taken for the training's.
#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "replay/recompute/elements.h"
#include "replay/recompute/hindsight.h"
#include "replay/recompute/prove.h"
#include "tests/replay/recorded_program.h"

using namespace msdbg;
using namespace msdbg::core;
using replay::Hindsight;
using test::RecordedProgram;
using test::RecordedRun;

namespace {

using Evidence = Hindsight::Evidence;
constexpr int kIterations = 12, kCheckpointEvery = 5, kWrong = 7;
constexpr const char* kWrongBackward = "wrong_backward@iteration=7,node=grad(network/out/weight)";

/// Two layers; what is recorded is up to the case.
RecordedProgram program(dump::Policy policy, std::vector<std::string> faults) {
  RecordedProgram p;
  p.loss = [](Graph& g) {
    const Value x = g.input("x", {6, 5}), label = g.input("label", {6}, DType::Int64);
    Value h;
    {
      const auto scope = g.scope("hidden");
      h = tanh(linear(x, {.out = 4}));
    }
    const auto scope = g.scope("out");
    return softmaxCrossEntropy(linear(h, {.out = 3}), label);
  };
  p.batch = [](int iteration) {
    Tensor x(DType::Float32, {6, 5}), label(DType::Int64, {6});
    for (std::size_t i = 0; i < 30; ++i)
      x.data<float>()[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i) + iteration));
    for (std::size_t i = 0; i < 6; ++i) label.data<std::int64_t>()[i] = static_cast<std::int64_t>(i % 3);
    return std::vector<std::pair<std::string, Tensor>>{{"x", x}, {"label", label}};
  };
  p.iterations = kIterations;
  p.optimizer = Sgd{.lr = 0.05, .momentum = 0.9};
  p.faults = std::move(faults);
  p.options.policy = policy;
  p.options.checkpointEvery = kCheckpointEvery;
  p.options.batches = true;
  return p;
}

RecordedProgram withoutWeights(std::vector<std::string> faults) {
  RecordedProgram p = program(dump::Policy::kStats, std::move(faults));
  p.options.rules = {dump::parseRule("*=none,kind=weight").orThrow()};
  return p;
}

TensorId idOf(RecordedRun& recorded, const std::string& name) {
  return *recorded.run().graph().findTensor(name);
}

Evidence evidenceOf(Hindsight& hindsight, RecordedRun& recorded, const std::string& name, int iteration) {
  return hindsight.compute(Rank(0), Iteration(iteration), idOf(recorded, name)).orThrow().evidence;
}

replay::History historyFrom(RecordedRun& recorded, const std::string& name, std::int64_t first) {
  IterationSet iterations;
  iterations.add({first, kIterations - 1});
  return replay::historyOf(recorded.run(), idOf(recorded, name), 2, {Rank(0)}, iterations,
                           {.computer = [&] { return replay::makeElementComputer(recorded.run(), {}); }})
      .orThrow();
}

}  // namespace

TEST_CASE("A weight of which no hash was recorded is not the training's after a gradient that differs") {
  RecordedRun recorded(withoutWeights({kWrongBackward}));
  const auto hindsight = Hindsight::create(recorded.run(), {}).orThrow();
  CHECK(evidenceOf(*hindsight, recorded, "network/out/weight:0", kWrong) == Evidence::kNone);
  CHECK(evidenceOf(*hindsight, recorded, "network/out/weight:0", kWrong + 1) == Evidence::kFollows);
  CHECK(evidenceOf(*hindsight, recorded, "network/out/weight:0", kWrong + 2) == Evidence::kFollows);
  const TensorId weight = idOf(recorded, "network/out/weight:0");
  const auto follows = hindsight->compute(Rank(0), Iteration(kWrong + 1), weight).orThrow();
  REQUIRE(follows.since);
  CHECK(follows.since->iteration == Iteration(kWrong));
  const auto refused = hindsight->value(Rank(0), Iteration(kWrong + 1), weight);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message(), Catch::Contains("follows from what has another hash"));
  CHECK(evidenceOf(*hindsight, recorded, "network/out/weight:0", 11) == Evidence::kNone);
  const auto kept =
      hindsight->compute(Rank(0), Iteration(kWrong + 1), weight).orThrow();  // not computed anew
  REQUIRE(kept.since);
  CHECK(kept.since->iteration == Iteration(kWrong));
  CHECK(hindsight->statistics(Rank(0), Iteration(kWrong), weight) != nullptr);
  CHECK(hindsight->statistics(Rank(0), Iteration(kWrong + 1), weight) == nullptr);
  CHECK(evidenceOf(*hindsight, recorded, "network/out/weight:0", 10) == Evidence::kNone);  // a checkpoint
  CHECK(evidenceOf(*hindsight, recorded, "network/out/weight:0", 11) == Evidence::kNone);
}

TEST_CASE("Where nothing parts, what has no hash is as it always was") {
  RecordedRun recorded(withoutWeights({}));
  const auto hindsight = Hindsight::create(recorded.run(), {}).orThrow();
  for (int i = 0; i < kIterations; ++i)
    CHECK(evidenceOf(*hindsight, recorded, "network/out/weight:0", i) == Evidence::kNone);
  CHECK(hindsight->differences().empty());
  RecordedRun flags(program(dump::Policy::kFlags, {}));
  CHECK(replay::prove(flags.run(), flags.run().iterationSet(Rank(0)), {}).orThrow().equal());
}

TEST_CASE("A history goes on from each checkpoint, wherever it begins") {
  RecordedProgram p = program(dump::Policy::kNone, {kWrongBackward});
  RecordedRun recorded(p);
  const replay::History whole = historyFrom(recorded, "network/out/weight:0", 0),
                        late = historyFrom(recorded, "network/out/weight:0", 10);
  REQUIRE(whole.rows.size() == kIterations);
  REQUIRE(late.rows.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(whole.rows[10 + i].values == late.rows[i].values);
}

TEST_CASE("Counts of NaN tell where a training of which only those are left parted") {
  RecordedRun recorded(program(dump::Policy::kFlags, {"nan@iteration=7,node=network/hidden/Tanh-op1"}));
  const replay::Proof proof =
      replay::prove(recorded.run(), recorded.run().iterationSet(Rank(0)), {.again = true}).orThrow();
  CHECK_FALSE(proof.equal());
  CHECK_FALSE(proof.nothingCompared());
  REQUIRE(!proof.mismatches.empty());
  CHECK(recorded.run().graph().tensor(proof.mismatches.front().tensor).fullName() ==
        "network/hidden/Tanh-op1:0");
  CHECK(proof.mismatches.front().iteration == Iteration(kWrong));
  CHECK(proof.mismatches.front().recorded == Hash128());
  const auto hindsight = Hindsight::create(recorded.run(), {}).orThrow();
  CHECK(evidenceOf(*hindsight, recorded, "network/hidden/Gemm-op1:0", kWrong) == Evidence::kNone);
  CHECK(evidenceOf(*hindsight, recorded, "network/hidden/Tanh-op1:0", kWrong) == Evidence::kFollows);
  CHECK(evidenceOf(*hindsight, recorded, "network/out/Gemm-op1:0", kWrong) == Evidence::kFollows);
  CHECK(evidenceOf(*hindsight, recorded, "network/x:0", kWrong + 1) != Evidence::kFollows);
}

TEST_CASE("A loss that is another tells that the training parted, if nothing else does") {
  RecordedProgram p = program(dump::Policy::kNone, {kWrongBackward});
  RecordedRun recorded(p);
  const auto hindsight = Hindsight::create(recorded.run(), {}).orThrow();
  CHECK(evidenceOf(*hindsight, recorded, "network/hidden/Tanh-op1:0", kWrong) == Evidence::kNone);
  const auto late =
      hindsight->compute(Rank(0), Iteration(kWrong + 1), idOf(recorded, "network/hidden/Tanh-op1:0"))
          .orThrow();
  CHECK(late.evidence == Evidence::kFollows);
  REQUIRE(late.since);
  CHECK(recorded.run().graph().tensor(late.since->tensor).role == TensorRole::kLoss);
}
