// Nodes computed again from their recorded inputs, each by itself.
#include "replay/recompute/recheck.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core_engine/ops/functions.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "tests/replay/recorded_program.h"
#include "tests/support/sampling.h"
#include "watchpoints/check.h"

using namespace msdbg;
using namespace msdbg::core;
using test::RecordedProgram;
using test::RecordedRun;

namespace {

constexpr int kIterations = 4;

Value network(Graph& g) {
  const Value x = g.input("x", {6, 10}), label = g.input("label", {6}, DType::Int64);
  Value h = x;
  for (const char* name : {"a", "b"}) {
    const auto scope = g.scope(name);
    h = dropout(tanh(linear(h, {.out = 8})), 0.25);
  }
  return softmaxCrossEntropy(linear(h, {.out = 3}), label);
}

std::vector<std::pair<std::string, Tensor>> batchOf(int iteration) {
  Tensor x(DType::Float32, {6, 10});
  for (std::size_t i = 0; i < 60; ++i)
    x.data<float>()[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + iteration));
  return {{"x", x}, {"label", Tensor::of<std::int64_t>({6}, std::vector<std::int64_t>{0, 1, 2, 0, 1, 2})}};
}

/// Every value is stored, and nothing from which an iteration would follow from another.
RecordedProgram program(std::vector<std::string> faults = {}) {
  RecordedProgram p;
  p.loss = network;
  p.batch = batchOf;
  p.iterations = kIterations;
  p.optimizer = Adam{.lr = 0.01};
  p.faults = std::move(faults);
  p.values = true;
  p.options.batches = false;
  p.options.checkpointEvery = dump::RecordOptions::kNoCheckpoints;
  return p;
}

struct Wrong {
  std::int64_t iteration;
  std::string tensor;
  std::int64_t element, count;
  bool operator==(const Wrong&) const = default;
};

std::vector<Wrong> wrongIn(RecordedRun& recorded) {
  const auto recheck = replay::Recheck::create(recorded.run(), {}).orThrow();
  std::vector<Wrong> wrong;
  for (std::int64_t i = 0; i < kIterations; ++i) {
    const auto found = recheck->recheck(Rank(0), Iteration(i)).orThrow();
    CHECK(found.outputs > 20);
    CHECK(found.unasked == 0);
    for (const auto& each : found.mismatches) {
      wrong.push_back({i, recorded.run().graph().tensor(each.tensor).fullName(), each.element, each.count});
      CHECK(each.recorded != each.here);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("Every node of a sound recording gives its recorded bytes again, without any history") {
  RecordedRun recorded(program());
  CHECK(recorded.run().recomputable()->recomputableIterations().empty());
  CHECK(wrongIn(recorded).empty());
}

TEST_CASE("What went wrong in one place is found there alone, though all that follows differs") {
  std::vector<std::string> names;
  {
    RecordedRun sound(program());
    for (const Node& node : sound.run().graph().nodes())
      if (isComputedFloating(sound.run().graph().tensor(node.outputs[0]).dtype) &&
          sound.run().graph().tensor(node.outputs[0]).shape.elements() > 1)
        names.push_back(node.name);
  }
  std::mt19937_64 random(test::drawnSeed("places that are rechecked"));
  for (int round = 0; round < (test::testAll() ? 40 : 6); ++round) {
    const std::string at = names[random() % names.size()];
    const std::int64_t iteration = static_cast<std::int64_t>(random() % kIterations);
    CAPTURE(at, iteration);
    RecordedRun recorded(
        program({"bitflip@iteration=" + std::to_string(iteration) + ",node=" + at + ",element=1,bit=20"}));
    CHECK(wrongIn(recorded) == std::vector<Wrong>{{iteration, at + ":0", 1, 1}});
  }
}

TEST_CASE("Of two wrong places of an iteration both are found, though one follows from the other") {
  RecordedRun recorded(program({"bitflip@iteration=2,node=*a/Tanh*,element=3,bit=22",
                                "bitflip@iteration=2,node=*b/Tanh*,element=5,bit=22"}));
  const std::vector<Wrong> wrong = wrongIn(recorded);
  REQUIRE(wrong.size() == 2);
  CHECK((wrong[0].tensor.find("a/Tanh") != std::string::npos && wrong[0].element == 3));
  CHECK((wrong[1].tensor.find("b/Tanh") != std::string::npos && wrong[1].element == 5));
}

TEST_CASE("kernel_mismatch is a condition like others, and says what is missing where it cannot be asked") {
  RecordedRun recorded(program({"bitflip@iteration=1,node=*a/Tanh*,element=3,bit=22"}));
  const std::vector<watch::Watchpoint> asked = {*watch::parseWatchpoint("kernel_mismatch")};
  CHECK(watch::check(recorded.run(), asked, {}).evaluated == 0);  // nobody computes
  const auto recheck = replay::Recheck::create(recorded.run(), {}).orThrow();
  recorded.run().recheckBy(recheck.get());
  const watch::CheckReport report = watch::check(recorded.run(), asked, {});
  CHECK(report.evaluated > 80);
  REQUIRE(report.first);
  CHECK(report.first->iteration == Iteration(1));
  CHECK(report.first->element == 3);
  CHECK_THAT(report.first->detail, Catch::Contains("1 of 48 elements") && Catch::Contains("[0, 3]"));
  CHECK(report.notEvaluable.empty());

  RecordedProgram sparse = program();
  sparse.values = false;
  sparse.options.policy = dump::Policy::kStats;
  RecordedRun statistics(sparse);
  const auto none = replay::Recheck::create(statistics.run(), {}).orThrow();
  const auto found = none->recheck(Rank(0), Iteration(1));
  REQUIRE_FALSE(found.ok());
  CHECK_THAT(found.error().message(), Catch::Contains("is needed"));
}

TEST_CASE("A checkpoint and a batch are enough to recheck an iteration by its hashes") {
  RecordedProgram p = program({"bitflip@iteration=2,node=*a/Tanh*,element=3,bit=22"});
  p.values = false;
  p.options.policy = dump::Policy::kStats;
  p.options.batches = true;
  p.options.checkpointEvery = 2;
  RecordedRun recorded(p);
  const auto recheck = replay::Recheck::create(recorded.run(), {}).orThrow();
  CHECK(recheck->recheck(Rank(0), Iteration(0)).orThrow().mismatches.empty());
  const auto found = recheck->recheck(Rank(0), Iteration(2)).orThrow();
  REQUIRE(found.mismatches.size() == 1);
  CHECK(found.mismatches[0].count == 0);
  CHECK(found.unasked > 0);  // all that follows from a value that nobody has
  CHECK_FALSE(recheck->recheck(Rank(0), Iteration(1)).ok());
}
