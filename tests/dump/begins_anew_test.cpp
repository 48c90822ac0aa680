// Iterations that do not follow from those before them: a weight was set from outside, or training began
// again. Nothing but a checkpoint leads to them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/trainer.h"
#include "dump/journal.h"
#include "dump/writer/recorder.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/train/plain_run.h"

using namespace msdbg;
using namespace msdbg::core;

namespace {

const Rank kRank0{0};
using List = std::vector<std::int64_t>;

Graph network() {
  Graph graph("net");
  const Value x = graph.input("x", {4, 3}), label = graph.input("label", {4}, DType::Int64);
  (void)softmaxCrossEntropy(linear(x, {.out = 2}), label);
  return graph;
}

struct Training {
  Graph graph = network();
  Trainer trainer;
  explicit Training(RunContext& run)
      : trainer(run, graph, Value(graph, graph.nodes().back().outputs[0]), Sgd{.lr = 0.1F}) {}
  void step(std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) {
      Tensor x(DType::Float32, {4, 3});
      for (std::size_t k = 0; k < 12; ++k)
        x.data<float>()[k] =
            static_cast<float>((trainer.iteration().value + static_cast<std::int64_t>(k)) % 5);
      trainer.step({trainer.iteration(), {{"x", x}, {"label", Tensor::zeros(DType::Int64, {4})}}});
    }
  }
  void setWeight(float value) {
    const auto named = [](const TensorInfo& info) { return info.name.ends_with("weight"); };
    const TensorInfo& info = *std::ranges::find_if(graph.tensors(), named);
    Tensor weight(info.dtype, info.shape);
    for (std::int64_t i = 0; i < weight.elements(); ++i)
      weight.data<float>()[static_cast<std::size_t>(i)] = value;
    REQUIRE(trainer.executor().setValue(info.id, weight).ok());
  }
};

double weightIn(dump::RunReader& run, std::int64_t checkpoint) {
  const TrainingState state = run.checkpoint(kRank0, Iteration(checkpoint)).orThrow();
  for (const auto& [name, value] : state.tensors)
    if (name.ends_with("weight:0")) return value.at(0);
  throw std::runtime_error("no weight");
}

dump::RecordOptions options() {
  dump::RecordOptions options;
  options.policy = dump::Policy::kRecord;
  options.checkpointEvery = 100;
  options.batches = true;
  return options;
}

// Checkpoints every 100 iterations, and where they are due.
std::unique_ptr<dump::RunReader> recorded(const std::filesystem::path& run,
                                          const std::function<void(RunContext&)>& train) {
  test::writeInfo(run);
  auto recorder = dump::Recorder::create({run}, options()).orThrow();
  test::PlainRun context;
  context.watching = recorder.get();
  train(context);
  REQUIRE(recorder->finish({.state = "finished"}).ok());
  test::writeInfo(run, 1, "finished");
  return test::openRun(run);
}

}  // namespace

TEST_CASE("A weight that is set between iterations is in a checkpoint of its own") {
  const test::TempDir folder;
  const auto reader = recorded(folder / "run", [](RunContext& run) {
    Training training(run);
    training.setWeight(0.5F);  // nothing is recorded before it
    training.step(4);
    training.setWeight(0.25F);
    training.step(4);
  });
  CHECK(reader->checkpoints(kRank0) == List{0, 4});
  CHECK(weightIn(*reader, 4) == 0.25);
  CHECK(dump::parseJournal(test::readText(folder / "run/rank_0/journal")).anew == IterationSet{4});
  CHECK(reader->recomputable() == List{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(reader->verify({}, {}).empty());
}

TEST_CASE("What was set to what it was is said too: who records cannot know") {
  const test::TempDir folder;
  const auto reader = recorded(folder / "run", [](RunContext& run) {
    Training training(run);
    training.step(2);
    training.trainer.restore(training.trainer.state());
    training.step(2);
  });
  CHECK(reader->checkpoints(kRank0) == List{0, 2});
  CHECK(reader->recomputable() == List{0, 1, 2, 3});
}

TEST_CASE("Without its checkpoint nothing leads to such an iteration") {
  const test::TempDir folder;
  const std::filesystem::path run = folder / "run";
  test::record(run, test::smallGraph(), options(), {.iterations = 6});
  CHECK(test::openRun(run)->recomputable().size() == 6);
  std::string journal = test::readText(run / "rank_0/journal");
  journal.insert(journal.rfind("{\"end\""), dump::formatSet({3}) + "\n");
  test::writeText(run / "rank_0/journal", journal);
  test::patchJournal(run / "rank_0", [](auto&) {});
  CHECK(test::openRun(run)->recomputable() == List{0, 1, 2});
}

TEST_CASE("A second Trainer of the same graph begins with a checkpoint") {
  const test::TempDir folder;
  const auto reader = recorded(folder / "run", [](RunContext& run) {
    Training first(run);
    first.step(3);
    Training second(run);
    second.setWeight(0.125F);
    second.step(5);
  });
  CHECK(reader->restarts().size() == 1);
  CHECK(reader->checkpoints(kRank0) == List{0});
  CHECK(weightIn(*reader, 0) == 0.125);
  CHECK(reader->recomputable() == List{0, 1, 2, 3, 4});
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "run/graphs"), {}) == 1);
}

TEST_CASE("Where a second training does not come as far, the first one's iterations do not follow from it") {
  const test::TempDir folder;
  const auto reader = recorded(folder / "run", [](RunContext& run) {
    Training first(run);
    first.step(8);
    Training second(run);
    second.step(3);
  });
  CHECK(reader->iterationSet(kRank0) == IterationSet{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(reader->recomputable() == List{0, 1, 2});
  CHECK(reader->begunAnew(kRank0).contains(3));
}

TEST_CASE("A rule that leaves out iterations leaves no older value in place of a newer one") {
  // The value of a weight was taken for the one that its update made two iterations before.
  const test::TempDir folder;
  dump::RecordOptions sparse = options();
  sparse.policy = dump::Policy::kNone;
  dump::Rule rule;
  rule.policy = GENERATE(dump::Policy::kRecord, dump::Policy::kStats);
  rule.every = 2;
  sparse.rules = {rule};
  const auto hashesOf = [&](const std::string& name, const dump::RecordOptions& how) {
    test::writeInfo(folder / name);
    auto recorder = dump::Recorder::create({folder / name}, how).orThrow();
    test::PlainRun context;
    context.watching = recorder.get();
    Training training(context);
    training.step(6);
    REQUIRE(recorder->finish({.state = "finished"}).ok());
    test::writeInfo(folder / name, 1, "finished");
    const auto reader = test::openRun(folder / name);
    std::vector<Hash128> hashes;
    for (const std::int64_t i : {0, 2, 4})
      for (const TensorInfo& tensor : reader->graph().tensors())
        hashes.push_back(reader->hash(kRank0, Iteration(i), tensor.id).orThrow());
    return hashes;
  };
  CHECK(hashesOf("sparse", sparse) == hashesOf("whole", options()));
}
