#include "app/cli/engine/resume.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <concepts>
#include <set>

#include "app/cli/run_access.h"
#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/train/trainer.h"
#include "replay/formats/msdbg/translate.h"
#include "replay/recompute/environment.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

std::string textOf(double value) { return core::formatDouble(value); }
std::string textOf(const std::string& value) { return value; }

template <std::integral T>
std::string textOf(T value) {
  return std::to_string(value);
}

bool sameTensor(const core::TensorInfo& a, const core::TensorInfo& b) {
  return a.fullName() == b.fullName() && a.dtype == b.dtype && a.shape == b.shape;
}

bool sameTensors(const core::Graph& a, std::span<const core::TensorId> mine, const core::Graph& b,
                 std::span<const core::TensorId> theirs) {
  return std::ranges::equal(mine, theirs, [&](core::TensorId left, core::TensorId right) {
    return sameTensor(a.tensor(left), b.tensor(right));
  });
}

bool sameNode(const core::Graph& a, const core::Node& mine, const core::Graph& b, const core::Node& theirs) {
  return mine.name == theirs.name && mine.attributes == theirs.attributes &&
         sameTensors(a, mine.inputs, b, theirs.inputs) && sameTensors(a, mine.outputs, b, theirs.outputs);
}

// "" when both compute the same.
std::string firstDifference(const core::Graph& a, const core::Graph& b) {
  const std::size_t common = std::min(a.nodes().size(), b.nodes().size());
  for (std::size_t i = 0; i < common; ++i)
    if (!sameNode(a, a.nodes()[i], b, b.nodes()[i])) return a.nodes()[i].name;
  if (a.nodes().size() > common) return a.nodes()[common].name;
  return b.nodes().size() > common ? b.nodes()[common].name : "";
}

// Where bits may differ: said, not refused.
void warnOfMachine(const std::string& run, const dump::RunInfo& recorded) {
  std::vector<std::string> other = replay::environmentDifferences(replay::translated(recorded));
  if (recorded.version != MSDBG_VERSION)
    other.push_back("msdbg " MSDBG_VERSION " instead of " + recorded.version);
  if (!other.empty())
    core::logWarn(
        fmt::format("{} was recorded otherwise: {}; going on may round differently than training "
                    "without the break",
                    run, core::join(other, ", ")));
}

bool differs(const std::optional<double>& recorded, double now) {
  return recorded && *recorded != now && !(std::isnan(*recorded) && std::isnan(now));
}

void warnOfOtherBits(const fs::path& run, core::Iteration iteration) {
  core::logWarn(
      fmt::format("{}: computed again, the loss of iteration {} is another than the recorded one: "
                  "another machine, or a planted fault; training goes on with what is computed here",
                  run.string(), iteration.value));
}

// The run's own surroundings, but nobody watches.
class Unrecorded : public core::RunContext {
 public:
  explicit Unrecorded(core::RunContext& run) : m_run(run) {}
  core::Communicator& communicator() override { return m_run.communicator(); }
  core::Observer* observer() override { return nullptr; }
  std::uint64_t seed() const override { return m_run.seed(); }
  int threads() const override { return m_run.threads(); }
  core::BackendKind backend() const override { return m_run.backend(); }
  const std::vector<core::FaultSpec>& faults() const override { return m_none; }
  std::int64_t steps(std::int64_t fallback) const override { return fallback; }
  core::PlanChoices planChoices() const override { return m_run.planChoices(); }
  bool stopRequested() override { return m_run.stopRequested(); }

 private:
  core::RunContext& m_run;
  std::vector<core::FaultSpec> m_none;
};

// What the iterations of a run were given, as a loader.
class RecordedBatches : public core::DataLoader {
 public:
  explicit RecordedBatches(dump::RunReader& reader) : m_reader(reader) {}
  core::Batch batch(core::Iteration iteration, core::Rank rank, int) const override {
    return m_reader.batch(rank, iteration).orThrow();
  }
  std::int64_t batchSize() const override { return 0; }  // nobody asks: iterations are given
  std::int64_t iterationsPerEpoch(int) const override { return 0; }
  std::string description() const override { return "the batches of " + m_reader.folder().string(); }

 private:
  dump::RunReader& m_reader;
};

}  // namespace

Error Resumed::usage(const std::string& what) const {
  return {ErrorCode::kUsage, fmt::format("--resume {}: {}", m_point.run.string(), what)};
}

Result<Resumed> Resumed::open(const std::string& run) {
  MSDBG_ASSIGN(const std::string path, findRun(run));
  MSDBG_ASSIGN(std::unique_ptr<dump::RunReader> reader, dump::RunReader::open(path));
  Resumed resumed(std::move(reader));
  resumed.m_point.run = fs::absolute(path);
  if (resumed.m_reader->info().model.empty())
    return resumed.usage(
        "it is no run of a built-in model; a program of your own goes on by msdbg::restore(trainer, run)");
  MSDBG_TRY(resumed.findPoint());
  warnOfMachine(path, resumed.m_reader->info());
  return resumed;
}

Status Resumed::findPoint() {
  const Result<core::Iteration> newest =
      m_reader->newestCheckpoint([](const std::string& skipped) { core::logWarn(skipped); });
  if (!newest.ok()) return newest.error().in("--resume " + m_point.run.string());
  m_point.checkpoint = *newest;
  m_point.iteration = following(*newest);
  return Ok{};
}

core::Iteration Resumed::following(core::Iteration checkpoint) const {
  std::set<std::int64_t> interrupted;
  for (const core::Rank rank : m_reader->ranks())
    for (const dump::IterationState& state : m_reader->iterations(rank))
      if (!state.complete) interrupted.insert(state.iteration);
  const std::vector<std::int64_t> reached = m_reader->recomputable();
  core::Iteration next = checkpoint;
  while (std::ranges::binary_search(reached, next.value) && !interrupted.contains(next.value)) ++next.value;
  return next;
}

Result<ModelSettings> Resumed::recordedSettings() const {
  ModelSettings settings;
  CLI::App options;
  settings.addOptions(options);
  std::vector<std::string> words;  // CLI11 takes them last first
  for (const auto& [name, value] : m_reader->info().modelOptions) {
    words.insert(words.begin(), "--" + name);
    words.insert(words.begin(), value);
  }
  try {
    options.parse(words);
  } catch (const CLI::ParseError& error) {
    return usage(fmt::format("the model_options of its run.json are not this msdbg's: {}", error.what()));
  }
  if (!settings.batch || !settings.lr || settings.data.empty())
    return usage("its run.json does not say what batch, rate and data it was trained with");
  return settings;
}

template <typename Given, typename Recorded>
Status Resumed::agree(std::string_view flag, Given& given, const Recorded& recorded) const {
  if (given && *given != recorded)
    return usage(
        fmt::format("it was trained with {} {}, not {}; what is to go on with the same numbers cannot "
                    "change that",
                    flag, textOf(recorded), textOf(*given)));
  given = recorded;
  return Ok{};
}

Status Resumed::agreeOnSize(ModelSettings& given, const ModelSettings& recorded) const {
  for (const SizeOption& option : sizeOptions()) {
    if (recorded.given(option) == 0) continue;  // the model has no such choice, and says so
    std::optional<std::int64_t> size;
    if (given.given(option) != 0) size = given.given(option);
    MSDBG_TRY(agree(option.name, size, recorded.given(option)));
    given.size[option.name] = *size;
  }
  return Ok{};
}

Status Resumed::complete(DumpOptions& options) const {
  const dump::RunInfo& info = m_reader->info();
  ModelSettings& model = options.model;
  if (!model.model.empty() && model.model != info.model)
    return usage(fmt::format("it is a run of {}, not of {}", info.model, model.model));
  MSDBG_ASSIGN(const ModelSettings recorded, recordedSettings());
  if (!model.data.empty() && model.data != recorded.data)
    return usage(fmt::format("it was trained with --data {}, not {}", recorded.data, model.data));
  model.model = info.model;
  model.data = recorded.data;
  MSDBG_TRY(agree("-n", options.ranks, info.ranks));
  MSDBG_TRY(agree("--threads", options.threads, info.threads));
  MSDBG_TRY(agree("--backend", options.backend, info.backend));
  MSDBG_TRY(agree("--seed", options.seed, info.seed));
  MSDBG_TRY(agree("--batch", model.batch, *recorded.batch));
  MSDBG_TRY(agree("--lr", model.lr, *recorded.lr));
  MSDBG_TRY(agreeOnSize(model, recorded));
  MSDBG_TRY(agree("--precision", model.precision, recorded.precision.value_or("fp32")));
  return agree("--dropout", model.dropout, recorded.dropout.value_or(0));
}

Status Resumed::checkModel(const core::Graph& graph) const {
  const std::string different = firstDifference(m_reader->graph(), graph);
  if (different.empty()) return Ok{};
  return usage(
      fmt::format("its {} is not what this msdbg makes of {}: go on with the version that recorded "
                  "it ({})",
                  different, m_reader->info().model, m_reader->info().version));
}

Result<core::TrainingState> stateAt(const ResumePoint& point, core::RunContext& run,
                                    const ModelTraining& training) {
  MSDBG_ASSIGN(const std::unique_ptr<dump::RunReader> reader, dump::RunReader::open(point.run));
  MSDBG_ASSIGN(core::TrainingState state, reader->checkpoint(run.rank(), point.checkpoint));
  const std::int64_t steps = point.iteration.value - point.checkpoint.value;
  if (steps == 0) return state;
  core::Graph graph("network");
  MSDBG_ASSIGN(const core::Value loss, training.build(graph));
  Unrecorded unrecorded(run);
  core::Trainer trainer(unrecorded, graph, loss, training.optimizer, {});
  trainer.restore(state);
  const RecordedBatches batches(*reader);
  std::optional<core::Iteration> other;
  for (const core::Batch& batch : unrecorded.shard(batches, steps, point.checkpoint)) {
    const double now = trainer.step(batch).loss;
    if (!other && differs(reader->scalar(run.rank(), batch.iteration, "loss"), now)) other = batch.iteration;
  }
  if (other) warnOfOtherBits(point.run, *other);
  if (trainer.iteration() != point.iteration) return Error(ErrorCode::kCancelled, "interrupted");
  return trainer.state();
}

}  // namespace msdbg::app
