// Promise 1: observation never changes a number. The same training with and without the recorder, bit for
// bit.
#include <catch2/catch.hpp>
#include <cstring>

#include "core_engine/models/model.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"
#include "dump/writer/recorder.h"
#include "tests/support/temp_dir.h"
#include "tests/train/plain_run.h"

using namespace msdbg;

namespace {

constexpr int kIterations = 50, kThreads = 2;

/// All parameters and states after training, as bytes.
std::string trainedBytes(const std::string& name, core::Observer* observer) {
  const core::ModelInfo& model = *core::findModel(name);
  core::Graph graph("network");
  const core::Value loss = model.build(
      graph, {.batch = model.batch, .dropout = model.hasDropout ? 0.2 : 0.0, .dtype = core::DType::Float32});
  test::PlainRun run;
  run.watching = observer;
  run.threadCount = kThreads;
  core::LoaderOptions options;
  options.image = model.image;
  options.batch = model.batch;
  const auto loader = core::makeLoader("digits", options).orThrow();
  core::Trainer trainer(run, graph, loss, model.optimizer);
  for (const core::Batch& batch : run.shard(*loader, kIterations)) trainer.step(batch);
  std::string bytes;
  for (const core::TensorInfo& t : graph.tensors()) {
    if (t.role != core::TensorRole::kParameter && t.role != core::TensorRole::kOptimizerState) continue;
    const core::Tensor& value = trainer.executor().value(t.id);
    bytes.append(static_cast<const char*>(value.raw()), value.bytes());
  }
  return bytes;
}

std::string recordedBytes(const std::string& name, dump::Policy policy) {
  test::TempDir folder;
  dump::RecordOptions options;
  options.policy = policy;
  options.maxBytes = 100 << 20;
  auto recorder = dump::Recorder::create({folder.path(), core::Rank(0), 1, kThreads}, options).orThrow();
  std::string bytes = trainedBytes(name, recorder.get());
  CHECK(recorder->finish({.state = "finished"}).ok());  // short runs commit only now
  CHECK(recorder->bytesWritten() > 0);
  return bytes;
}

void compare(const std::string& model) {
  const std::string plain = trainedBytes(model, nullptr);
  REQUIRE_FALSE(plain.empty());
  CHECK((recordedBytes(model, dump::Policy::kStats) == plain));
  CHECK((recordedBytes(model, dump::Policy::kFull) == plain));
}

}  // namespace

TEST_CASE("Recording lenet5 changes no bit of its parameters in 50 iterations with 2 threads") {
  compare("lenet5");
}
TEST_CASE("Recording mlp changes no bit of its parameters in 50 iterations with 2 threads") {
  compare("mlp");
}
TEST_CASE("Recording alexnet changes no bit of its parameters in 50 iterations with 2 threads", "[slow]") {
  compare("alexnet");
}
