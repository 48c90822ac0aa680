// Data-parallel training with ranks as threads.
#include <catch2/catch.hpp>
#include <thread>

#include "core_engine/distributed/communicators.h"
#include "core_engine/models/model.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;
using msdbg::test::PlainRun;

namespace {

struct Trained {
  std::vector<double> losses;
  std::vector<std::string> parameterHashes;
};

Trained trainRank(Communicator* communicator, const ModelInfo& model, std::int64_t globalBatch,
                  std::int64_t steps) {
  PlainRun run(communicator);
  const std::int64_t rows = globalBatch / run.ranks();
  Graph g("network");
  const Value loss = model.build(g, {.batch = rows});
  const auto data = std::move(makeLoader("digits", {.image = model.image, .batch = rows})).value();
  Trainer trainer(run, g, loss, model.optimizer);
  Trained trained;
  for (const Batch& batch : run.shard(*data, steps)) trained.losses.push_back(trainer.step(batch).loss);
  for (const TensorInfo& info : g.tensors())
    if (info.role == TensorRole::kParameter)
      trained.parameterHashes.push_back(hashTensor(trainer.executor().value(info.id)).text());
  return trained;
}

std::vector<Trained> trainRanks(int size, const ModelInfo& model, std::int64_t globalBatch,
                                std::int64_t steps) {
  auto ranks = makeThreadCommunicators(size);
  std::vector<Trained> trained(ranks.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      threads.emplace_back([&, i] { trained[i] = trainRank(ranks[i].get(), model, globalBatch, steps); });
  }
  return trained;
}

}  // namespace

TEST_CASE(
    "all ranks have bitwise equal parameters, and their mean loss is that of the global batch on one rank") {
  const int size = GENERATE(2, 4);
  const ModelInfo& lenet5 = *findModel("lenet5");
  const std::vector<Trained> ranks = trainRanks(size, lenet5, 64, 10);
  const Trained alone = trainRank(nullptr, lenet5, 64, 10);
  REQUIRE(alone.losses.size() == 10);
  REQUIRE(alone.parameterHashes.size() == 10);
  for (const Trained& rank : ranks) {
    CHECK(rank.parameterHashes == ranks[0].parameterHashes);
    CHECK(rank.losses.size() == 10);
  }
  for (std::size_t i = 0; i < 10; ++i) {
    double mean = 0;
    for (const Trained& rank : ranks) mean += rank.losses[i] / size;
    CHECK(mean == Approx(alone.losses[i]).epsilon(1e-3));
  }
  CHECK(ranks[0].losses != ranks[1].losses);  // each has rows of its own
}
