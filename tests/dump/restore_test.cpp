// msdbg::restore: a program's training goes on from a recorded run in one call.
#include "dump/session/restore.h"

#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "core_engine/distributed/communicators.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/array_loader.h"
#include "core_engine/train/layers.h"
#include "dump/writer/recorder.h"
#include "tests/dump/recorded_run.h"
#include "tests/train/plain_run.h"

using namespace msdbg;
using namespace msdbg::core;
using Catch::Matchers::Contains;
using test::PlainRun;

namespace {

constexpr int kSteps = 10;

struct Net {
  Graph g{"net"};
  Value x, label, loss;
  explicit Net(std::int64_t width = 6) : x(g.input("x", {4, 3})), label(g.input("label", {4}, DType::Int64)) {
    const Value hidden = relu(batchNorm(linear(x, {.out = width})));
    loss = softmaxCrossEntropy(linear(hidden, {.out = 2}), label);
  }
};

std::unique_ptr<DataLoader> loader() {
  Tensor x(DType::Float32, {40, 3}), label(DType::Int64, {40});
  for (std::size_t i = 0; i < 120; ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 23) / 11 - 1;
  for (std::size_t i = 0; i < 40; ++i) label.data<std::int64_t>()[i] = static_cast<std::int64_t>(i * 7 % 2);
  return makeArrayLoader({{"x", x}, {"label", label}}, {.batch = 4, .seed = 5}).orThrow();
}

Optimizer optimizer() {
  Optimizer chosen = Adam{.lr = 0.05};
  chosen.accumulate = 2;
  return chosen;
}

/// Every loss of one rank, from `first` on; recorded where a folder is named.
std::vector<double> train(Communicator* communicator, const std::filesystem::path& record,
                          const std::function<void(Trainer&)>& begin = {}) {
  PlainRun run(communicator);
  std::unique_ptr<dump::Recorder> recorder;
  if (!record.empty()) {
    dump::RecordOptions options;
    options.policy = dump::Policy::kRecord;
    options.checkpointEvery = 3;
    recorder = dump::Recorder::create({record, run.rank(), run.ranks(), 1, communicator}, options).orThrow();
    run.watching = recorder.get();
  }
  Net net;
  Trainer trainer(run, net.g, net.loss, optimizer());
  if (begin) begin(trainer);
  const auto data = loader();
  std::vector<double> losses;
  for (const Batch& batch : run.shard(*data, kSteps - trainer.iteration().value, trainer.iteration()))
    losses.push_back(trainer.step(batch).loss);
  if (recorder && !recorder->finish({.state = "finished"}).ok()) losses.clear();  // found missing then
  return losses;
}

std::vector<std::vector<double>> trainAll(int ranks, const std::filesystem::path& record,
                                          const std::function<void(Trainer&)>& begin = {}) {
  if (!record.empty()) test::writeInfo(record, ranks, "finished");
  auto communicators = makeThreadCommunicators(ranks);
  std::vector<std::vector<double>> losses(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < losses.size(); ++r)
    threads.emplace_back([&, r] { losses[r] = train(communicators[r].get(), record, begin); });
  threads.clear();
  return losses;
}

std::string errorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("restore goes on from the newest checkpoint with the bits of the run, on two ranks") {
  const test::TempDir folder;
  const auto whole = trainAll(2, folder / "run");
  std::int64_t from = -1;
  const auto rest = trainAll(2, "", [&](Trainer& trainer) {
    dump::restore(trainer, folder / "run");
    if (trainer.rank() == Rank{0}) from = trainer.iteration().value;
  });
  CHECK(from == 9);
  for (std::size_t r = 0; r < 2; ++r) {
    REQUIRE(rest[r].size() == 1);
    CHECK(rest[r][0] == whole[r][9]);
  }
}

TEST_CASE("restore goes on from a chosen checkpoint, between two updates of accumulated gradients, too") {
  const test::TempDir folder;
  const auto whole = trainAll(1, folder / "run");
  const auto rest =
      trainAll(1, "", [&](Trainer& trainer) { dump::restore(trainer, folder / "run", Iteration{3}); });
  REQUIRE(rest[0].size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(rest[0][i] == whole[0][3 + i]);
}

TEST_CASE("restore says what is wrong and what there is") {
  const test::TempDir folder;
  trainAll(1, folder / "run");
  PlainRun run;
  Net net, wide(7);
  Trainer trainer(run, net.g, net.loss, optimizer()), other(run, wide.g, wide.loss, optimizer());
  CHECK_THAT(errorOf([&] { dump::restore(trainer, folder / "run", Iteration{4}); }),
             Contains("no checkpoint of iteration 4") && Contains("0,3,6,9"));
  CHECK_THAT(errorOf([&] { dump::restore(trainer, folder / "nothing"); }), Contains("nothing"));
  CHECK_THAT(errorOf([&] { dump::restore(other, folder / "run"); }),
             Contains("net/weight") && Contains("[7, 3]"));
  CHECK(trainer.iteration() == Iteration{0});
  auto two = makeThreadCommunicators(2);
  PlainRun oneOfTwo(two[0].get());
  Net again;
  Trainer half(oneOfTwo, again.g, again.loss, optimizer());
  CHECK_THAT(errorOf([&] { dump::restore(half, folder / "run"); }),
             Contains("recorded with 1 rank, but 2 go on"));
}

TEST_CASE("restore of a run without checkpoints says how to record them") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(), test::withoutReplay());
  PlainRun run;
  Net net;
  Trainer trainer(run, net.g, net.loss, optimizer());
  CHECK_THAT(errorOf([&] { dump::restore(trainer, folder / "run"); }), Contains("--checkpoint-every"));
}
