// The models learn, and do so bit for bit the same twice.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>

#include "core_engine/models/model.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"
#include "tests/support/run_command.h"
#include "tests/support/sampling.h"
#include "tests/train/mnist_dir.h"
#include "tests/train/plain_run.h"

using namespace msdbg;
using namespace msdbg::core;

namespace {

/// A model with its data, ready to train.
struct Training {
  test::PlainRun run;
  Graph g{"network"};
  const ModelInfo& model;
  std::unique_ptr<DataLoader> data;
  std::unique_ptr<Trainer> trainer;

  /// samples 0: all; lr 0: the model's own.
  Training(const char* name, const std::string& spec, std::uint64_t seed, std::int64_t samples = 0,
           double lr = 0)
      : model(*findModel(name)) {
    run.seedValue = seed;
    run.threadCount = 2;
    const Value loss = model.build(g, {.batch = model.batch});
    auto made = makeLoader(spec, {.image = model.image,
                                  .sequence = model.size.context,
                                  .batch = model.batch,
                                  .seed = seed,
                                  .samples = samples});
    if (!made.ok()) FAIL(made.error().message());
    data = std::move(made).value();
    Optimizer optimizer = model.optimizer;
    if (lr > 0) optimizer.setLr(lr);
    trainer = std::make_unique<Trainer>(run, g, loss, optimizer);
  }

  std::vector<double> losses(std::int64_t steps) {
    std::vector<double> all;
    for (const Batch& batch : run.shard(*data, steps)) all.push_back(trainer->step(batch).loss);
    return all;
  }

  std::vector<std::byte> parameters() const {
    std::vector<std::byte> bytes;
    for (const TensorInfo& info : g.tensors()) {
      if (info.role != TensorRole::kParameter) continue;
      const auto span = trainer->executor().value(info.id).byteSpan();
      bytes.insert(bytes.end(), span.begin(), span.end());
    }
    return bytes;
  }
};

double meanOf(const std::vector<double>& values, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += values[i];
  return sum / static_cast<double>(count);
}

void checkLossFalls(const char* name, const std::string& spec, std::uint64_t seed) {
  const std::vector<double> losses = Training(name, spec, seed).losses(60);
  INFO(name << " on " << spec << ", seed " << seed);
  REQUIRE(losses.size() == 60);
  CHECK(meanOf(losses, 50, 10) < 0.5 * meanOf(losses, 0, 10));
}

void checkRepeats(const char* name, const char* spec = "digits", std::int64_t steps = 50) {
  Training a(name, spec, 4), b(name, spec, 4);
  CHECK(a.losses(steps) == b.losses(steps));
  const std::vector<std::byte> first = a.parameters();
  CHECK(first.size() > 100000);
  CHECK((first == b.parameters()));
}

}  // namespace

TEST_CASE("the loss of mlp and lenet5 falls within 60 steps on digits") {
  checkLossFalls(GENERATE("mlp", "lenet5"), "digits", 1);
}

TEST_CASE("the loss of every model falls within 60 steps, whatever the seed and the data", "[slow]") {
  const char* name = GENERATE("mlp", "lenet5", "alexnet");
  const std::string spec = GENERATE(true, false) ? "digits" : "mnist:" + test::mnistDir();
  if (spec == "mnist:") {
    WARN("skipped: no MNIST files (set MSDBG_MNIST_DIR)");
    return;
  }
  const std::uint64_t one = 1 + test::drawnSeed(std::string(name) + " on " + spec) % 5;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5})
    if (test::testAll() || seed == one) checkLossFalls(name, spec, seed);
}

TEST_CASE("the loss of resnet20 falls within 60 steps on digits", "[slow]") {
  checkLossFalls("resnet20", "digits", 1);
}

TEST_CASE("gpt learns drawn words and real text", "[slow]") {
  const std::string book = test::sourceDir() / "../shared/data/tinyshakespeare/input.txt";
  const bool real = std::ifstream(book).good();
  if (!real) WARN("skipped: no " << book);
  const std::vector<double> drawn = Training("gpt", "words", 1, 0, 1e-3).losses(100);
  CHECK(drawn.front() == Approx(std::log(256)).margin(0.3));
  CHECK(meanOf(drawn, 90, 10) < 2);
  if (real) CHECK(meanOf(Training("gpt", "text:" + book, 1, 0, 1e-3).losses(300), 290, 10) < 2.3);
}

TEST_CASE("two runs of mlp and lenet5 with 2 threads have bitwise equal parameters after 50 iterations") {
  checkRepeats(GENERATE("mlp", "lenet5"));
}

TEST_CASE("two runs of resnet20 and gpt with 2 threads have bitwise equal parameters after 20 iterations",
          "[slow]") {
  const std::string name = GENERATE("resnet20", "gpt");
  checkRepeats(name.c_str(), name == "gpt" ? "words" : "digits", 20);
}

TEST_CASE("two runs of alexnet with 2 threads have bitwise equal parameters after 50 iterations", "[slow]") {
  checkRepeats("alexnet");
}

TEST_CASE("another seed gives other parameters") {
  Training a("lenet5", "digits", 1), b("lenet5", "digits", 2);
  CHECK((a.parameters() != b.parameters()));
}

TEST_CASE("lenet5 reads 97 % of 2,000 unseen MNIST images after at most 6 epochs of 8,000", "[slow]") {
  const std::string folder = test::mnistDir();
  if (folder.empty()) {
    WARN("skipped: no MNIST files (set MSDBG_MNIST_DIR)");
    return;
  }
  // 0.02 was chosen on images 6,000 to 7,999 after training on the 6,000 before them; of the test images
  // nothing was used. The model's own 0.01 gets there too for most seeds, but with less to spare.
  Training t("lenet5", "mnist:" + folder, 1, 8000, 0.02);
  auto unseen = makeLoader("mnist:" + folder, {.image = t.model.image,
                                               .batch = t.model.batch,
                                               .firstSample = 8000,
                                               .samples = 2000,
                                               .shuffle = false});
  REQUIRE(unseen.ok());
  double best = 0;
  const std::int64_t perEpoch = t.data->iterationsPerEpoch(1);
  for (std::int64_t i = 0; i < 6 * perEpoch; ++i) {
    t.trainer->step(t.data->batch(Iteration{i}, Rank{0}, 1));
    if ((i + 1) % perEpoch == 0) best = std::max(best, t.trainer->evaluateAccuracy(**unseen, 2000));
  }
  CHECK(best >= 0.97);
}
