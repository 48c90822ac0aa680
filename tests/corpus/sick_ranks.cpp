// Sick: ranks that do not do the same, and programs that end before their time.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "tests/corpus/corpus.h"
#include "tests/corpus/data.h"

namespace msdbg::corpus {
namespace {

/// A classifier, and what one rank does at the beginning of an iteration: it may change the batch.
using Before = void (*)(Trainer& t, At at, Batch& batch);

void classify(Session& run, Before before, int count = 20) {
  Graph g("net");
  const Value x = g.input("x", {16, 8}), label = g.input("label", {16}, DType::Int64);
  Value h;
  {
    const Scope s = g.scope("fc1");
    h = relu(linear(x, {.out = 24}));
  }
  const Scope s = g.scope("fc2");
  Trainer t(run, g, softmaxCrossEntropy(linear(h, {.out = 4}), label), Sgd{.lr = 0.05, .momentum = 0.9});
  for (const At at : iterations(run, count)) {
    Batch batch = points(at);
    before(t, at, batch);
    t.step(batch);
  }
}

/// Nobody told the loader its rank.
void sameBatchOnRanks(Session& run) {
  classify(run, [](Trainer&, At at, Batch& batch) { batch = points({at.iteration, 0}); });
}

void otherRate(Session& run) {
  classify(run, [](Trainer& t, At at, Batch&) {
    if (at.rank == 1) t.setLearningRate(0.1);
  });
}

/// A rank that began from a file of its own.
void otherWeights(Session& run) {
  classify(run, [](Trainer& t, At at, Batch&) {
    if (at.rank != 1 || at.iteration != 0) return;
    core::TrainingState state = t.state();
    for (auto& [name, tensor] : state.tensors)
      if (name.find("weight") != std::string::npos && tensor.dtype() == DType::Float32)
        for (float& v : tensor.data<float>()) v *= 0.8f;
    t.restore(state);
  });
}

void nanOnOneRank(Session& run) {
  classify(run, [](Trainer&, At at, Batch& batch) {
    if (at.rank == 2 && at.iteration == 6)
      tensorOf(batch, "x").data<float>()[17] = std::numeric_limits<float>::quiet_NaN();
  });
}

/// One host has an older data set, not divided by 255.
void otherScaleOnOneRank(Session& run) {
  classify(run, [](Trainer&, At at, Batch& batch) {
    if (at.rank == 1)
      for (float& v : tensorOf(batch, "x").data<float>()) v *= 255;
  });
}

void rankKilled(Session& run) {
  classify(run, [](Trainer&, At at, Batch&) {
    if (at.rank == 1 && at.iteration == 5) kill(getpid(), SIGKILL);
  });
}

void exits(Session& run) {
  classify(run, [](Trainer&, At at, Batch&) {
    if (at.iteration == 12) exit(3);
  });
}

void throws(Session& run) {
  classify(run, [](Trainer&, At at, Batch&) {
    if (at.iteration == 9) throw std::runtime_error("shard 9 of the data is missing");
  });
}

void crashes(Session& run) {
  classify(run, [](Trainer&, At at, Batch&) {
    if (at.iteration == 8) raise(SIGSEGV);
  });
}

}  // namespace

std::span<const SickCase> sickRanks() {
  static const std::vector<std::string_view> kBatch = {"*/x", "*/label"}, kInput = {"*/x"};
  static const std::vector<std::string_view> kUpdates = {"update/*", "*/weight", "*/bias",
                                                         "optimizer/learning_rate"};
  static const std::vector<std::string_view> kWeights = {"*/weight"};
  // No place of the model is wrong; that the run ended, where and by what is the answer.
  static const std::vector<std::string_view> kAnywhere = {"*"};
  static const SickCase kCases[] = {
      {"ranks_read_the_same_batch", sameBatchOnRanks,
       "(same|equal|identical).{0,60}(batch|data|input|rank)|rank.{0,60}(same|equal|identical)", kBatch, 2},
      {"rank_has_another_rate", otherRate, "learning.rate", kUpdates, 3, 1},
      {"rank_has_other_weights", otherWeights, "initial|start|begin|before the first|seed", kWeights, 3, 1},
      {"rank_has_nan_data", nanOnOneRank,
       "(input|batch|data).{0,60}(nan|not a number|non-?finite)|nan.{0,40}(input|batch|data)|fed|given|where "
       "it enters",
       kInput, 3, 2, 6},
      {"rank_has_other_scale", otherScaleOnOneRank,
       "rank 1.{0,100}(larger|differ|scale|range|normali)|outlier|other ranks|normali|scale", kInput, 4, 1},
      {"rank_killed", rankKilled, "kill|signal 9|died", kAnywhere, 2, 1},
      {"exits_in_the_middle", exits, "exit|status 3", kAnywhere},
      {"throws_in_the_middle", throws, "shard 9 of the data is missing", kAnywhere},
      {"crashes_in_the_middle", crashes, "SIGSEGV|signal 11|crash", kAnywhere},
  };
  return kCases;
}

}  // namespace msdbg::corpus
