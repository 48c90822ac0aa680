// What the engine says to have the bytes of another tensor is not read again, unless it is written.
#include <catch2/catch.hpp>

#include "tests/dump/recorded_run.h"

using namespace msdbg;
using core::Hash128;

namespace {

const std::string kWeight = "network/a/weight", kNext = "next(network/a/weight)";

struct Recorded {
  test::TempDir folder;
  core::Graph graph = test::smallGraph();
  std::unique_ptr<dump::RunReader> reader;

  // Every iteration gives the weight a value that its update did not make, which tells whether it was read.
  Recorded(const dump::RecordOptions& options, bool saysKept, std::int64_t step = 1) {
    test::writeInfo(folder / "run");
    auto recorder = dump::Recorder::create({folder / "run", core::Rank(0)}, options);
    REQUIRE(recorder.ok());
    (*recorder)->graphReady(graph);
    for (std::int64_t i = 0; i < 4 * step; i += step) feed(**recorder, core::Iteration(i), saysKept);
    REQUIRE((*recorder)->finish({.state = "finished"}).ok());
    reader = test::openRun(folder / "run");
  }
  void feed(dump::Recorder& recorder, core::Iteration now, bool saysKept) const {
    recorder.iterationStarted(now);
    for (const core::TensorInfo& tensor : graph.tensors()) {
      const core::Tensor value = test::valueOf(tensor, now.value);
      const bool isKept = saysKept && tensor.name == kWeight;
      recorder.tensorReady({now, tensor.id, value, tensor.updateOf.valid() ? &value : nullptr,
                            isKept ? test::tensorNamed(graph, kNext) : core::TensorId()});
    }
    recorder.iterationFinished(now, {});
  }
  watch::StatisticsRow row(std::int64_t iteration, const std::string& tensor) const {
    const auto row =
        reader->statistics(core::Rank(0), core::Iteration(iteration), test::tensorNamed(graph, tensor));
    REQUIRE(row.ok());
    return *row;
  }
  Hash128 hash(std::int64_t iteration, const std::string& tensor) const {
    return reader->hash(core::Rank(0), core::Iteration(iteration), test::tensorNamed(graph, tensor))
        .orThrow();
  }
  Hash128 given(std::int64_t iteration) const {
    return core::hashTensor(test::valueOf(graph.tensor(test::tensorNamed(graph, kWeight)), iteration));
  }
};

dump::RecordOptions only(dump::Policy policy) {
  dump::RecordOptions options;
  options.policy = policy;
  return options;
}

}  // namespace

TEST_CASE("Statistics of a parameter that nobody wrote to since its update are those of the update") {
  const Recorded run(only(dump::Policy::kStats), true);
  CHECK(run.hash(0, kWeight) == run.given(0));
  for (std::int64_t i = 1; i < 4; ++i) {
    const core::TensorStatistics weight = run.row(i, kWeight).values, made = run.row(i - 1, kNext).values;
    CHECK(weight.hash == made.hash);
    CHECK(weight.mean == made.mean);
    CHECK(weight.l2 == made.l2);
    CHECK(weight.count == made.count);
    CHECK_FALSE(run.row(i, kWeight).change);
  }
}

TEST_CASE("With --policy record a kept parameter has its update's hash, and its own where it is written") {
  dump::RecordOptions options = only(dump::Policy::kRecord);
  options.checkpointEvery = 2;
  const Recorded run(options, true);
  CHECK(run.hash(1, kWeight) == run.hash(0, kNext));
  CHECK(run.hash(2, kWeight) == run.given(2));
  CHECK(run.hash(3, kWeight) == run.hash(2, kNext));
}

TEST_CASE("A value that is written is hashed itself, whatever is said of it") {
  const Recorded run(only(dump::Policy::kFull), true);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(run.hash(i, kWeight) == run.given(i));
  CHECK(run.reader->verify({}, {}).empty());
}

TEST_CASE("A parameter is read where the engine does not say that it is kept, or the update was not seen") {
  for (const dump::Policy policy : {dump::Policy::kStats, dump::Policy::kRecord}) {
    const Recorded silent(only(policy), false), apart(only(policy), true, 2);
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(silent.hash(i, kWeight) == silent.given(i));
      CHECK(apart.hash(2 * i, kWeight) == apart.given(2 * i));
    }
  }
}

TEST_CASE("A view has what was recorded of the tensor that it shows, and is read where that was not") {
  const test::TempDir folder;
  const core::Graph graph = test::smallGraph();
  const core::TensorId wide = test::tensorNamed(graph, "network/wide"),
                       relu = test::tensorNamed(graph, "network/a/Relu-op1"),
                       mask = test::tensorNamed(graph, "network/Mask-op1");
  const auto record = [&](const std::string& run, const char* ruleOfWide) {
    test::writeInfo(folder / run);
    dump::RecordOptions options = only(dump::Policy::kStats);
    options.rules.push_back(*dump::parseRule(ruleOfWide));
    auto recorder = dump::Recorder::create({folder / run, core::Rank(0)}, options).orThrow();
    recorder->graphReady(graph);
    const core::Iteration now(0);
    recorder->iterationStarted(now);
    for (const core::TensorInfo& tensor : graph.tensors()) {
      const bool shows = tensor.id == mask || tensor.id == relu;
      recorder->tensorReady(
          {now, tensor.id, test::valueOf(tensor, 0), nullptr, shows ? wide : core::TensorId()});
    }
    recorder->iterationFinished(now, {});
    REQUIRE(recorder->finish({.state = "finished"}).ok());
    return test::openRun(folder / run);
  };
  const auto read = [&](dump::RunReader& reader, core::TensorId id) {
    return reader.statistics(core::Rank(0), core::Iteration(0), id).orThrow();
  };
  const auto known = record("known", "network/wide=stats"), hash = record("hash", "network/wide=record"),
             nothing = record("nothing", "network/wide=none");
  CHECK(read(*known, mask).values.count == 3);
  CHECK(read(*known, mask).values.mean == read(*known, wide).values.mean);
  for (const auto* run : {&hash, &nothing}) CHECK(read(**run, mask).values.count == 40);
  // An activation's own statistics are not those of what it shows: it is read.
  CHECK(read(*known, relu).values.count == 40);
  CHECK(read(*known, relu).activation);
}

TEST_CASE("An update of which only the hash was taken gives the next iteration no statistics") {
  dump::RecordOptions options = only(dump::Policy::kStats);
  options.rules.push_back(*dump::parseRule("next(*)=record"));
  const Recorded run(options, true);
  CHECK(run.hash(1, kWeight) == run.given(1));
  CHECK(run.row(1, kWeight).values.count == 20);
}
