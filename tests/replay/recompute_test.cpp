// Iterations computed again from a recording alone: the program that trained is not here.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "core_engine/graph/init.h"
#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "core_engine/train/mutable_input.h"
#include "replay/recompute/compare_computed.h"
#include "replay/recompute/elements.h"
#include "replay/recompute/hindsight.h"
#include "replay/recompute/prove.h"
#include "replay/recompute_way.h"
#include "tests/replay/recorded_program.h"

using namespace msdbg;
using namespace msdbg::core;
using replay::Hindsight;
using replay::Proof;
using test::RecordedProgram;
using test::RecordedRun;

namespace {

constexpr int kIterations = 12, kCheckpointEvery = 5;
constexpr std::int64_t kRows = 6;

Tensor drawn(Shape shape, int iteration) {
  Tensor t(DType::Float32, std::move(shape));
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(std::sin(0.37 * static_cast<double>(i) + iteration));
  return t;
}

Tensor labels(std::int64_t rows) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < rows; ++i) values.push_back(i % 3);
  return Tensor::of<std::int64_t>({rows}, values);
}

/// All that keeps something from iteration to iteration, or is drawn: momentum, running means, dropout.
Value network(Graph& g, Shape input) {
  const Value label = g.input("label", {input[0]}, DType::Int64);
  Value x = g.input("x", std::move(input));
  {
    const auto scope = g.scope("conv");
    x = relu(batchNorm(conv(x, {.out = 4, .kernel = 3, .pad = 1})));
  }
  {
    const auto scope = g.scope("fc");
    x = dropout(linear(flatten(x), {.out = 3}), 0.25);
  }
  return softmaxCrossEntropy(x, label);
}

RecordedProgram program() {
  RecordedProgram p;
  p.loss = [](Graph& g) { return network(g, {kRows, 1, 5, 5}); };
  p.batch = [](int i) {
    return std::vector<std::pair<std::string, Tensor>>{{"x", drawn({kRows, 1, 5, 5}, i)},
                                                       {"label", labels(kRows)}};
  };
  p.iterations = kIterations;
  p.optimizer = Sgd{.lr = 0.05, .momentum = 0.9};
  p.options.policy = dump::Policy::kRecord;
  p.options.checkpointEvery = kCheckpointEvery;
  p.options.batches = true;
  return p;
}

/// Batches of so many rows.
RecordedProgram ofSizes(std::int64_t (*rowsOf)(int iteration)) {
  RecordedProgram p = program();
  p.loss = [](Graph& g) {
    const Value x = mutableInput(g, "x", {kRows, 10}),
                label = mutableInput(g, "label", {kRows}, DType::Int64);
    return softmaxCrossEntropy(linear(x, {.out = 3}), label);
  };
  p.batch = [rowsOf](int i) {
    const std::int64_t rows = rowsOf(i);
    return std::vector<std::pair<std::string, Tensor>>{{"x", drawn({rows, 10}, i)}, {"label", labels(rows)}};
  };
  return p;
}

IterationSet all(replay::Run& run) { return run.iterationSet(Rank(0)); }

Proof proofOf(RecordedRun& recorded) {
  return replay::prove(recorded.run(), all(recorded.run()), {}).orThrow();
}

void requireProven(RecordedRun& recorded) {
  const Proof proof = proofOf(recorded);
  CAPTURE(replay::verdictText(proof));
  CHECK(proof.equal());
  CHECK(proof.computed == all(recorded.run()));
  CHECK(proof.unproved.empty());
  CHECK(proof.otherHere.empty());
  CHECK(proof.tensors > 0);
}

std::string nameOf(RecordedRun& recorded, TensorId id) {
  return recorded.run().graph().tensor(id).fullName();
}

}  // namespace

TEST_CASE(
    "Every tensor of every iteration is computed again to the bit, from hashes, checkpoints and batches") {
  RecordedRun recorded(program());
  requireProven(recorded);
  const Proof proof = proofOf(recorded);
  CHECK(proof.tensors == static_cast<std::int64_t>(recorded.run().graph().tensors().size()) * kIterations);
  CHECK(proof.values == 0);
}

TEST_CASE("Stored values are compared byte by byte besides") {
  RecordedProgram p = program();
  p.values = true;
  RecordedRun recorded(p);
  requireProven(recorded);
  CHECK(proofOf(recorded).values > kIterations);
}

TEST_CASE("Other optimizers, clipping, accumulation and rates of callbacks are computed again too") {
  RecordedProgram p = program();
  SECTION("AdamW with a schedule") {
    p.optimizer = AdamW{.lr = 0.01};
    p.optimizer.schedule = cosineSchedule(9, 0, 3);
  }
  SECTION("clipped") { p.optimizer.clipNorm = 0.01; }
  SECTION("accumulated") { p.optimizer.accumulate = 3; }
  SECTION("a rate that the program sets") {
    p.before = [](Trainer& trainer, int i) { trainer.setLearningRate(0.1 / (1 + i)); };
  }
  RecordedRun recorded(p);
  requireProven(recorded);
}

TEST_CASE("Batches of several sizes are several graphs, each of which is computed again") {
  const RecordedProgram p = ofSizes([](int i) { return i % 4 == 3 ? 2 : kRows; });
  RecordedRun recorded(p);
  requireProven(recorded);
}

TEST_CASE("Parameters that the program sets are taken from the checkpoint that says so") {
  RecordedProgram p = program();
  p.before = [](Trainer& trainer, int i) {
    if (i != 7) return;
    TrainingState state = trainer.state();
    for (auto& [name, value] : state.tensors)
      if (name == "network/fc/weight:0") value = Tensor::zeros(value.dtype(), value.shape());
    trainer.restore(state);
  };
  RecordedRun recorded(p);
  requireProven(recorded);
}

TEST_CASE("Parameters that are set just before a batch of another size have their checkpoint too") {
  RecordedProgram p = ofSizes([](int i) { return i >= 7 ? 2 : kRows; });
  p.before = [](Trainer& trainer, int i) {
    if (i != 7) return;
    TrainingState state = trainer.state();
    for (auto& [name, value] : state.tensors) value = Tensor::zeros(value.dtype(), value.shape());
    trainer.restore(state);
  };
  RecordedRun recorded(p);
  CHECK(recorded.run().recomputable()->begunAnew(Rank(0)) == IterationSet{7});
  requireProven(recorded);
}

TEST_CASE("What was planted into one node is found there, by its values where these are stored") {
  RecordedProgram p = program();
  p.faults = {"nan@iteration=6,node=*fc/Gemm*"};
  p.values = GENERATE(false, true);
  RecordedRun recorded(p);
  const Proof proof = proofOf(recorded);
  CHECK_FALSE(proof.equal());
  CHECK(proof.different == IterationSet{6});
  REQUIRE(proof.mismatches.size() == 1);
  const replay::Mismatch& found = proof.mismatches.front();
  CHECK(nameOf(recorded, found.tensor) == "network/fc/Gemm-op1:0");
  CHECK(found.iteration == Iteration(6));
  CHECK(found.kernel == "dnnl:Gemm");
  CHECK(found.origin);
  CHECK(proof.again == replay::Again::kSame);
  CHECK(found.values.has_value() == p.values);
  if (found.values) {
    CHECK(found.values->different == 1);
    CHECK(std::isnan(found.values->a));
    CHECK(std::isfinite(found.values->b));
  }
  // From there on the recorded values are another training's, up to the next checkpoint.
  REQUIRE(proof.unproved.size() == 1);
  CHECK(proof.unproved.front().iterations == IterationSet{7, 8, 9});
  CHECK(proof.computed == IterationSet{0, 1, 2, 3, 4, 5, 6, 10, 11});
}

TEST_CASE("One iteration is reached from its checkpoint, and what is asked of it alone is computed") {
  RecordedRun recorded(program());
  const Proof proof = replay::prove(recorded.run(), IterationSet{8}, {}).orThrow();
  CHECK(proof.equal());
  CHECK(proof.computed == IterationSet{5, 6, 7, 8});
}

TEST_CASE("A run without checkpoints says what was not recorded") {
  RecordedProgram p = program();
  p.options.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
  RecordedRun recorded(p);
  const Proof proof = proofOf(recorded);
  CHECK(proof.nothingCompared());
  REQUIRE(proof.unproved.size() == 1);
  CHECK_THAT(proof.unproved.front().why, Catch::Contains("no checkpoint"));
}

TEST_CASE("Where nothing can be computed, a comparison says once why, not that there is nothing in common") {
  RecordedProgram p = program();
  p.options.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
  RecordedRun recorded(p);
  const auto found = replay::compareComputed(recorded.run(), all(recorded.run()), {});
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().code() == ErrorCode::kUnavailable);
  CHECK_THAT(found.error().message(),
             Catch::StartsWith("nothing of it can be computed again: ") && Catch::Contains("no checkpoint"));
}

TEST_CASE(
    "What an iteration takes is told from the middle one of the newest, not from one that had to wait") {
  RecordedRun recorded(program());
  std::vector<double> seconds;
  for (const std::int64_t each : all(recorded.run()))
    seconds.push_back(*recorded.run().scalar(Rank(0), Iteration(each), "step_time"));
  std::ranges::sort(seconds);
  CHECK(replay::RecomputeWays(recorded.run()).secondsAnIteration() == seconds[(seconds.size() - 1) / 2]);
}

TEST_CASE("A proof is cancelled between kernels") {
  RecordedRun recorded(program());
  CancelToken cancel;
  const auto proof = replay::prove(recorded.run(), all(recorded.run()),
                                   {.cancel = cancel, .progress = [&](std::int64_t done, std::int64_t) {
                                      if (done == 3) cancel.cancel();
                                    }});
  REQUIRE_FALSE(proof.ok());
  CHECK(proof.error().code() == ErrorCode::kCancelled);
}

TEST_CASE("Values and statistics that were not recorded are those of a full recording") {
  RecordedProgram p = program();
  RecordedRun bare(p);
  p.values = true;
  RecordedRun full(p);
  const auto hindsight = Hindsight::create(bare.run(), {}).orThrow();
  bare.run().computeMissingBy(hindsight.get());
  for (const int i : {3, 4, 9, 2}) {
    const Iteration iteration(i);
    for (const TensorInfo& tensor : full.run().graph().tensors()) {
      CAPTURE(i, tensor.fullName());
      const Tensor expected = full.run().value(Rank(0), iteration, tensor.id).orThrow();
      const Tensor value = bare.run().value(Rank(0), iteration, tensor.id).orThrow();
      CHECK_FALSE(replay::compareBits(expected, value));
      const watch::StatisticsRow* was = full.run().statistics(Rank(0), iteration, tensor.id);
      REQUIRE(was);
      const watch::StatisticsRow copy = *was;
      const watch::StatisticsRow* is = bare.run().statistics(Rank(0), iteration, tensor.id);
      REQUIRE(is);
      CHECK(is->values.hash == copy.values.hash);
      CHECK(is->values.count == copy.values.count);
      CHECK(is->values.l2 == copy.values.l2);
      CHECK(is->change.has_value() == copy.change.has_value());
      if (is->change) CHECK(is->change->meanAbsChange == copy.change->meanAbsChange);
      CHECK(is->activation.has_value() == copy.activation.has_value());
      if (is->activation) CHECK(is->activation->shareInRange == copy.activation->shareInRange);
    }
  }
  bare.run().computeMissingBy(nullptr);
}

TEST_CASE("Hindsight says what a value costs, and goes on from where it is") {
  RecordedRun recorded(program());
  const auto hindsight = Hindsight::create(recorded.run(), {}).orThrow();
  CHECK(hindsight->cost(Iteration(8))->iterations == 4);
  CHECK(hindsight->cost(Iteration(8))->checkpoint == Iteration(5));
  const TensorId tensor = *recorded.run().graph().findTensor("network/fc/Gemm-op1:0");
  const auto computed = hindsight->compute(Rank(0), Iteration(8), tensor);
  REQUIRE(computed.ok());
  CHECK(computed->evidence == Hindsight::Evidence::kHash);
  CHECK(hindsight->cost(Iteration(8))->iterations == 0);
  CHECK(hindsight->cost(Iteration(9))->iterations == 1);
  CHECK(hindsight->cost(Iteration(4))->iterations == 5);
  CHECK_FALSE(hindsight->cost(Iteration(kIterations)).ok());
}

TEST_CASE("A value that is not what training had says so, and since where") {
  RecordedProgram p = program();
  p.faults = {"inf@iteration=6,node=*conv/Conv*"};
  RecordedRun recorded(p);
  const auto hindsight = Hindsight::create(recorded.run(), {}).orThrow();
  const TensorId tensor = *recorded.run().graph().findTensor("network/fc/Gemm-op1:0");
  const auto computed = hindsight->compute(Rank(0), Iteration(7), tensor).orThrow();
  CHECK(computed.evidence == Hindsight::Evidence::kOther);
  REQUIRE(computed.since);
  CHECK(nameOf(recorded, computed.since->tensor) == "network/conv/Conv-op1:0");
  CHECK(hindsight->differences().size() == 1);
  CHECK(computed.since->iteration == Iteration(6));
  CHECK_FALSE(hindsight->value(Rank(0), Iteration(7), tensor).ok());
  // From the next checkpoint on it is as it was, also for who comes from there.
  CHECK(hindsight->value(Rank(0), Iteration(9), tensor).ok() == false);
  CHECK(hindsight->value(Rank(0), Iteration(10), tensor).ok());
  CHECK(hindsight->statistics(Rank(0), Iteration(8), tensor) == nullptr);
  CHECK(hindsight->statistics(Rank(0), Iteration(9), tensor) == nullptr);
  CHECK(hindsight->statistics(Rank(0), Iteration(10), tensor) != nullptr);
}

// Of element 7 of the tensor, all its iterations.
replay::History historyIn(RecordedRun& recorded, TensorId tensor) {
  const auto computer = [&] { return replay::makeElementComputer(recorded.run(), {}); };
  return replay::historyOf(recorded.run(), tensor, 7, {Rank(0)}, all(recorded.run()), {.computer = computer})
      .orThrow();
}

TEST_CASE("The history of an element has what belongs to it, and each value is the next one of before") {
  RecordedProgram p = program();
  RecordedRun bare(p);
  p.values = true;
  RecordedRun full(p);
  const TensorId weight = *bare.run().graph().findTensor("network/fc/weight:0");
  const replay::History computed = historyIn(bare, weight), stored = historyIn(full, weight);
  std::vector<std::string> names;
  for (const TensorId id : computed.columns) {
    const TensorInfo& info = bare.run().graph().tensor(id);
    names.push_back(info.alias.empty() ? info.name : info.alias);
  }
  CHECK(names == std::vector<std::string>{"network/fc/weight", "grad(network/fc/weight)",
                                          "momentum(network/fc/weight)", "next(network/fc/weight)"});
  REQUIRE(computed.rows.size() == kIterations);
  REQUIRE(stored.rows.size() == kIterations);
  for (int i = 0; i < kIterations; ++i) {
    const auto at = static_cast<std::size_t>(i);
    CHECK(computed.rows[at].values == stored.rows[at].values);
    CHECK_FALSE(stored.rows[at].computed);
    CHECK_FALSE(computed.rows[at].other);
    if (i > 0) CHECK(computed.rows[at].values[0] == computed.rows[at - 1].values.back());
  }
  CHECK_FALSE(replay::historyOf(bare.run(), weight, 1 << 30, {Rank(0)}, all(bare.run()), {}).ok());
}

TEST_CASE("A history begins anew at a checkpoint behind what differs") {
  RecordedProgram p = program();
  p.faults = {"inf@iteration=6,node=*conv/Conv*"};
  RecordedRun recorded(p);
  const TensorId weight = *recorded.run().graph().findTensor("network/fc/weight:0");
  const auto rows = historyIn(recorded, weight).rows;
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].other == (i >= 6 && i <= 9));
}
