// msdbg bench: how fast a built-in model trains here, without recording.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "app/cli/command.h"
#include "app/cli/engine/bench_profile.h"
#include "app/cli/engine/model_training.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/table.h"
#include "core_engine/distributed/communicators.h"
#include "core_engine/ops/op.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"

namespace msdbg::app {
namespace {

using core::Result;

constexpr std::int64_t kWarmUpSteps = 3;  // caches, primitives, first touch of memory

struct BenchOptions {
  ModelSettings model;
  PlanSettings plan;
  std::int64_t steps = 20, seed = 0;
  int threads = 0;
  std::optional<std::string> backend;
  bool profile = false;
};

// One rank that nobody observes.
class BenchContext : public core::RunContext {
 public:
  BenchContext(int threads, core::BackendKind backend, std::uint64_t seed, core::CancelToken cancel,
               core::PlanChoices choices)
      : m_communicator(core::makeLocalCommunicator()),
        m_backend(backend),
        m_threads(threads),
        m_seed(seed),
        m_cancel(std::move(cancel)),
        m_choices(std::move(choices)) {
    omp_set_num_threads(threads);
  }
  core::Communicator& communicator() override { return *m_communicator; }
  core::Observer* observer() override { return nullptr; }
  std::uint64_t seed() const override { return m_seed; }
  int threads() const override { return m_threads; }
  core::BackendKind backend() const override { return m_backend; }
  const std::vector<core::FaultSpec>& faults() const override { return m_faults; }
  core::PlanChoices planChoices() const override { return m_choices; }
  std::int64_t steps(std::int64_t fallback) const override { return fallback; }
  bool stopRequested() override { return m_cancel.cancelled(); }

 private:
  std::unique_ptr<core::Communicator> m_communicator;
  core::BackendKind m_backend;
  int m_threads;
  std::uint64_t m_seed;
  core::CancelToken m_cancel;
  std::vector<core::FaultSpec> m_faults;
  core::PlanChoices m_choices;
};

struct Measured {
  double medianMs = 0, minMs = 0, gflops = 0, gflopStep = 0, peakMb = 0;
  double startMs = 0;      // until training can begin: data, graph, kernels, memory, weights
  double growthMb = 0;     // the process's memory, from before that to its most while training
  double sgemmGflops = 0;  // with --profile
  std::vector<KernelTime> kernels;
};

std::int64_t flopsOfStep(const core::Graph& graph) {
  std::int64_t flops = 0;
  for (const core::Node& node : graph.nodes())
    if (const core::OpDef* op = core::findOp(node); op && op->flops) flops += op->flops(graph, node);
  return flops;
}

Measured summary(std::vector<double> seconds, core::Trainer& trainer) {
  std::ranges::sort(seconds);
  const std::size_t half = seconds.size() / 2;
  const double median = seconds.size() % 2 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  const double flops = static_cast<double>(flopsOfStep(trainer.graph()));
  Measured measured;
  measured.medianMs = median * 1e3;
  measured.minMs = seconds.front() * 1e3;
  measured.gflops = flops / median / 1e9;
  measured.gflopStep = flops / 1e9;
  measured.peakMb = static_cast<double>(trainer.executor().peakBytes()) / 1e6;
  return measured;
}

Result<Measured> measure(const BenchOptions& options, const ModelTraining& training,
                         const core::CancelToken& cancel) {
  MSDBG_ASSIGN(const core::PlanChoices choices, readChoices(options.plan));
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t before = processMemory().now;
  MSDBG_ASSIGN(const core::BackendKind backend, backendFrom(options.backend));
  BenchContext context(options.threads, backend, static_cast<std::uint64_t>(options.seed), cancel, choices);
  MSDBG_ASSIGN(const std::unique_ptr<core::DataLoader> loader, training.loader(context.seed()));
  core::Graph graph("network");
  MSDBG_ASSIGN(const core::Value loss, training.build(graph));
  core::Trainer trainer(context, graph, loss, training.optimizer, {});
  const double startSeconds = secondsSince(start);
  Progress progress;
  std::vector<double> seconds;
  for (std::int64_t step = 0; step < kWarmUpSteps + options.steps; ++step) {
    const core::Batch batch = loader->batch(core::Iteration(step), core::Rank(0), 1);
    const auto begin = std::chrono::steady_clock::now();
    trainer.step(batch);
    if (step >= kWarmUpSteps) seconds.push_back(secondsSince(begin));
    progress.line(fmt::format("step {}/{}", step + 1, kWarmUpSteps + options.steps));
    if (cancel.cancelled()) return cancelledError();
  }
  Measured measured = summary(std::move(seconds), trainer);
  measured.startMs = startSeconds * 1e3;
  measured.growthMb = static_cast<double>(processMemory().most - before) / 1e6;
  if (!options.profile) return measured;
  measured.kernels = kernelTimes(trainer, *loader, kWarmUpSteps + options.steps, options.steps);
  MSDBG_ASSIGN(measured.sgemmGflops, sgemmPeak(options.threads));
  return measured;
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

Json kernelsJson(const std::vector<KernelTime>& kernels) {
  Json list = Json::array();
  for (const KernelTime& kernel : kernels)
    list.push_back({{"kernel", kernel.name}, {"calls", kernel.calls}, {"ms", rounded(kernel.ms)}});
  return list;
}

void printProfile(const Measured& measured) {
  double all = 0;
  for (const KernelTime& kernel : measured.kernels) all += kernel.ms;
  Table table({"kernel", ">calls", ">ms a step", ">share"});
  for (const KernelTime& kernel : measured.kernels)
    table.row({kernel.name, std::to_string(kernel.calls), fmt::format("{:.3f}", kernel.ms),
               fmt::format("{:.1f} %", 100 * kernel.ms / all)});
  fmt::print(
      "\nready after {:.0f} ms; the process took {:.0f} MB; a matrix product of 2048 reaches {:.0f} "
      "GFLOP/s\n\n{}",
      measured.startMs, measured.growthMb, measured.sgemmGflops, table.text());
}

Result<int> bench(BenchOptions options, const Context& context) {
  if (options.model.model.empty())
    return core::Error(core::ErrorCode::kUsage, "bench: which model? msdbg models lists them");
  if (options.threads == 0)
    options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  MSDBG_ASSIGN(const ModelTraining training, ModelTraining::choose(options.model, 1));
  MSDBG_ASSIGN(const Measured measured, measure(options, training, context.cancel));
  if (context.json) {
    Json json = document("bench");
    json["model"] = training.info->name;
    json["median_ms"] = rounded(measured.medianMs);
    json["min_ms"] = rounded(measured.minMs);
    json["gflops"] = rounded(measured.gflops);
    json["peak_mb"] = rounded(measured.peakMb);
    json["gflop_step"] = rounded(measured.gflopStep);
    json["threads"] = options.threads;
    json["backend"] = options.backend.value_or("cpu");
    json["batch"] = training.options.batch;
    json["steps"] = options.steps;
    json["start_ms"] = rounded(measured.startMs);
    json["growth_mb"] = rounded(measured.growthMb);
    if (options.profile) {
      json["sgemm_gflops"] = rounded(measured.sgemmGflops);
      json["kernels"] = kernelsJson(measured.kernels);
    }
    printJson(json);
  } else {
    fmt::print(
        "{}: {:.2f} ms a step (median of {}, least {:.2f}), {:.1f} GFLOP/s, tensors {:.0f} MB, batch {}, {} "
        "threads{}\n",
        training.info->name, measured.medianMs, options.steps, measured.minMs, measured.gflops,
        measured.peakMb, training.options.batch, options.threads,
        options.backend.value_or("cpu") == "cpu" ? "" : ", on " + *options.backend);
    if (options.profile) printProfile(measured);
  }
  return kExitFine;
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<BenchOptions>();
  app.add_option("MODEL", options->model.model, "a built-in model (msdbg models)");
  app.add_option("--steps", options->steps, "timed steps (20)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--threads", options->threads, "default: all cores")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  addBackendOption(app, options->backend);
  app.add_option("--seed", options->seed, "default: 0")->type_name("S")->check(CLI::NonNegativeNumber);
  options->plan.addOptions(app);
  app.add_flag("--profile", options->profile,
               "train as many steps again with a clock at every kernel; and what a matrix product reaches");
  options->model.addOptions(app);
  return [options, &context] { return bench(*options, context); };
}

}  // namespace

Command benchCommand() {
  return {.name = "bench",
          .summary = "how fast a built-in model trains here, without recording",
          .examples =
              "  msdbg bench alexnet\n  msdbg bench lenet5 --steps 100 --threads 1 --json\n  msdbg bench gpt "
              "--profile\n",
          .setup = setup};
}

}  // namespace msdbg::app
