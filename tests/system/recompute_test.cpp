// Promise 4: what is not stored can be computed again. From a run recorded with --policy record alone (a
// checkpoint, the batches after it, the seed, the model's graph) fresh trainers on as many ranks compute
// every tensor of every iteration again, and its hash is the recorded one.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "core_engine/distributed/communicators.h"
#include "core_engine/models/model.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/trainer.h"
#include "dump/reader/run_reader.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/train/plain_run.h"

using namespace msdbg;

namespace {

constexpr std::uint64_t kSeed = 7;
constexpr double kDropout = 0.2;

struct Training {
  std::string model;
  int ranks = 1;
  std::int64_t batch = 8, steps = 7;  // rows over all ranks
  std::vector<std::string> more = {};
};

void record(const Training& training, const std::filesystem::path& run) {
  std::vector<std::string> words = {"dump",
                                    training.model,
                                    "-o",
                                    run.string(),
                                    "--policy",
                                    "record",
                                    "--checkpoint-every",
                                    "3",
                                    "--threads",
                                    "1",
                                    "-n",
                                    std::to_string(training.ranks),
                                    "--batch",
                                    std::to_string(training.batch),
                                    "--steps",
                                    std::to_string(training.steps),
                                    "--seed",
                                    std::to_string(kSeed)};
  if (core::findModel(training.model)->hasDropout) words.insert(words.end(), {"--dropout", "0.2"});
  words.insert(words.end(), training.more.begin(), training.more.end());
  const test::RunResult result = test::runMsdbg(words);
  INFO(result.err);
  REQUIRE(result.exitStatus == 0);
}

/// All that one rank needs and is compared with: read beforehand, since a reader is for one thread.
struct RankParts {
  core::TrainingState state;
  std::vector<core::Batch> batches;
  std::vector<std::vector<core::Hash128>> hashes;  // by batch and tensor
};

RankParts read(dump::RunReader& reader, core::Rank rank, std::int64_t from) {
  RankParts parts{reader.checkpoint(rank, core::Iteration(from)).orThrow(), {}, {}};
  for (const std::int64_t i : reader.batches(rank)) {
    if (i < from) continue;
    parts.batches.push_back(reader.batch(rank, core::Iteration(i)).orThrow());
    std::vector<core::Hash128>& hashes = parts.hashes.emplace_back();
    for (const core::TensorInfo& tensor : reader.graph().tensors())
      hashes.push_back(reader.hash(rank, core::Iteration(i), tensor.id).orThrow());
  }
  return parts;
}

/// Compares every tensor that is computed with its recorded hash.
struct Judge : core::Observer {
  explicit Judge(const RankParts& recorded) : parts(recorded) {}
  const RankParts& parts;
  std::int64_t compared = 0, different = 0;
  std::string first;

  const core::Graph* graph = nullptr;
  void graphReady(const core::Graph& trained) override { graph = &trained; }
  void iterationStarted(core::Iteration) override {}
  void tensorReady(const core::TensorReady& ready) override {
    const auto row = static_cast<std::size_t>(ready.iteration.value - parts.state.iteration.value);
    ++compared;
    if (core::hashTensor(ready.value) == parts.hashes.at(row).at(ready.tensor.index())) return;
    if (different++ == 0)
      first =
          graph->tensor(ready.tensor).fullName() + " in iteration " + std::to_string(ready.iteration.value);
  }
  void iterationFinished(core::Iteration, const core::Scalars&) override {}
};

/// One rank, from the recording alone.
void recompute(const Training& training, core::Communicator* communicator, const RankParts& parts,
               Judge& judge) {
  test::PlainRun run(communicator);
  run.seedValue = kSeed;
  run.watching = &judge;
  const core::ModelInfo& model = *core::findModel(training.model);
  core::Graph graph("network");
  const core::Value loss = model.build(
      graph, {.batch = training.batch / training.ranks, .dropout = model.hasDropout ? kDropout : 0.0});
  core::Trainer trainer(run, graph, loss, model.optimizer);
  trainer.restore(parts.state);
  for (const core::Batch& batch : parts.batches) trainer.step(batch);
}

struct Verdict {
  std::int64_t compared = 0, different = 0;
  std::string first;
};

Verdict recomputeAll(const Training& training, const std::vector<RankParts>& parts) {
  auto communicators = core::makeThreadCommunicators(training.ranks);
  std::vector<Judge> judges(parts.begin(), parts.end());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < parts.size(); ++r)
      threads.emplace_back([&, r] { recompute(training, communicators[r].get(), parts[r], judges[r]); });
  }
  Verdict verdict;
  for (const Judge& judge : judges) {
    verdict.compared += judge.compared;
    verdict.different += judge.different;
    if (verdict.first.empty()) verdict.first = judge.first;
  }
  return verdict;
}

void prove(const Training& training) {
  const test::TempDir folder;
  record(training, folder / "run.msdbg");
  const auto reader = dump::RunReader::open(folder / "run.msdbg").orThrow();
  CHECK(reader->recomputable().size() == static_cast<std::size_t>(training.steps));
  CHECK(reader->storage().rawBytes == 0);  // no value but those of checkpoints and batches
  for (const std::int64_t from : {0, 3}) {
    std::vector<RankParts> parts;
    for (int r = 0; r < training.ranks; ++r) parts.push_back(read(*reader, core::Rank(r), from));
    const Verdict verdict = recomputeAll(training, parts);
    CAPTURE(training.model, training.ranks, from, verdict.first);
    CHECK(verdict.compared == (training.steps - from) * training.ranks *
                                  static_cast<std::int64_t>(reader->graph().tensors().size()));
    CHECK(verdict.different == 0);
    if (from > 0) {  // and it would have been seen: one bit of one parameter
      for (auto& [name, tensor] : parts.back().state.tensors)
        if (name.ends_with("conv1/weight:0")) tensor.byteSpan()[1] ^= std::byte{1};
      CHECK(recomputeAll(training, parts).different > 0);
    }
  }
}

}  // namespace

TEST_CASE("lenet5 recorded with policy record is computed again to the bit, on 1 and 2 ranks") {
  prove({.model = "lenet5"});
  prove({.model = "lenet5", .ranks = 2});
}

TEST_CASE("alexnet with dropout recorded with policy record is computed again to the bit, on 1 and 2 ranks") {
  prove({.model = "alexnet", .batch = 4, .steps = 5});
  prove({.model = "alexnet", .ranks = 2, .batch = 4, .steps = 5});
}

TEST_CASE("Policy record takes at most 2 % of full's bytes, batches apart: planned") {
  for (const std::string model : {"alexnet", "lenet5", "mlp"}) {
    const auto planned = [&](const std::string& policy) {
      const auto result =
          test::runMsdbg({"dump", model, "--policy", policy, "--steps", "1000", "--dry-run", "--json"});
      REQUIRE(result.exitStatus == 0);
      return nlohmann::json::parse(result.out)["expected"];
    };
    const auto full = planned("full"), record = planned("record");
    const auto bytes = [](const nlohmann::json& plan, const char* key) { return plan[key].get<double>(); };
    const double all = bytes(full, "value_bytes") + bytes(full, "statistics_bytes");
    CAPTURE(model, record.dump());
    CHECK(bytes(record, "state_bytes") + bytes(record, "statistics_bytes") <= 0.02 * all);
    CHECK(bytes(record, "value_bytes") == 0);
    CHECK(bytes(record, "batch_bytes") > 0);
  }
}

TEST_CASE("Policy record takes at most 2 % of full's bytes on disk, batches apart", "[slow]") {
  for (const std::string model : {"alexnet", "lenet5"}) {
    const auto onDisk = [&](const std::vector<std::string>& how, std::int64_t steps) {
      const test::TempDir folder;
      std::vector<std::string> words = {"dump",       model,  "-o",      folder / "run.msdbg",
                                        "--max-size", "20GB", "--steps", std::to_string(steps)};
      words.insert(words.end(), how.begin(), how.end());
      REQUIRE(test::runMsdbg(words, {.timeout = std::chrono::seconds(300)}).exitStatus == 0);
      const auto bytes = dump::RunReader::open(folder / "run.msdbg").orThrow()->storage().fileBytes;
      return static_cast<double>(bytes) / static_cast<double>(steps);
    };
    CAPTURE(model);
    CHECK(onDisk({"--policy", "record", "--no-batches"}, 100) <= 0.02 * onDisk({"--policy", "full"}, 5));
  }
}
