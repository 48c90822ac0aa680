#include "app/cli/engine/model_planner.h"

#include <fmt/format.h>

#include <filesystem>

#include "core_engine/base/text.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/plan/recompute_scopes.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

// `--tensors a b MODEL`: the last word was meant as the model.
void takeModelFromTensors(DumpOptions& options) {
  std::vector<std::string>& tensors = options.recording.tensors;
  if (!options.model.model.empty() || tensors.empty() || !core::findModel(tensors.back())) return;
  options.model.model = tensors.back();
  tensors.pop_back();
}

// A model takes exactly the steps that are planned.
Status checkFaultsAct(const std::vector<core::FaultSpec>& faults, const DumpPlan& plan) {
  const core::Iteration first(plan.firstIteration()), last(plan.firstIteration() + *plan.steps - 1);
  for (const core::FaultSpec& fault : faults)
    if (const std::string why = core::whyNeverActed(fault, first, last); !why.empty())
      return Error(ErrorCode::kUsage, why + "; choose another iteration, or train longer with --steps");
  return Ok{};
}

// Builds what the ranks will build, to say the size and to find mistakes once and early.
Status planGraph(const DumpOptions& options, const ModelTraining& training, const core::DataLoader& loader,
                 DumpPlan& plan, const std::vector<core::FaultSpec>& faults, const Resumed* resumed) {
  core::Graph graph("network");
  MSDBG_ASSIGN(const core::Value loss, training.build(graph));
  auto compiled = core::compileTraining(graph, loss.id(), training.optimizer, plan.ranks);
  if (!compiled.ok()) return compiled.error();
  if (resumed) MSDBG_TRY(resumed->checkModel(graph));
  MSDBG_ASSIGN(plan.doubts, options.recording.check(graph, plan.record, options.dryRun));
  MSDBG_TRY(core::checkRecomputed(graph, plan.recompute));
  auto bound = core::FaultInjector::bind(faults, graph, core::Rank(0));
  if (!bound.ok()) return bound.error().in("--fault");
  MSDBG_TRY(checkFaultsAct(faults, plan));
  const core::Batch example = loader.batch(core::Iteration(0), core::Rank(0), plan.ranks);
  MSDBG_ASSIGN(plan.size, dump::expectedSize(graph, plan.record, plan.ranks, *plan.steps, {.batch = &example},
                                             plan.firstIteration()));
  MSDBG_ASSIGN(const auto shadowed, dump::shadowedRules(graph, plan.record, plan.planned(), *plan.size));
  plan.doubts.insert(plan.doubts.end(), shadowed.begin(), shadowed.end());
  return Ok{};
}

// A program may have been built with what this msdbg was built without.
Status checkRanksOfModel([[maybe_unused]] int ranks) {
#ifndef MSDBG_WITH_MPI
  if (ranks > 1)
    return Error(ErrorCode::kUnsupported,
                 fmt::format("-n {}: this msdbg was built without MPI and trains on one rank: install "
                             "libopenmpi-dev and openmpi-bin, then build again",
                             ranks));
#endif
  return Ok{};
}

Result<std::vector<core::FaultSpec>> parseFaults(const std::vector<std::string>& texts, int ranks) {
  std::vector<core::FaultSpec> faults;
  for (const std::string& text : texts) {
    auto fault = core::parseFault(text);
    if (!fault.ok()) return fault.error().in("--fault");
    if (fault->rank && fault->rank->value >= ranks)
      return Error(ErrorCode::kUsage,
                   fmt::format("--fault {}: there is no rank {}; the run has {}", text, fault->rank->value,
                               ranks == 1 ? "rank 0 only" : fmt::format("ranks 0-{}", ranks - 1)));
    faults.push_back(std::move(fault).value());
  }
  return faults;
}

}  // namespace

Result<std::optional<ResumePoint>> ModelPlanner::begin(DumpOptions& options, const Context&) {
  takeModelFromTensors(options);
  if (options.resume.empty()) return std::optional<ResumePoint>();
  MSDBG_ASSIGN(Resumed resumed, Resumed::open(options.resume));
  MSDBG_TRY(resumed.complete(options));
  m_resumed = std::move(resumed);
  return std::optional(m_resumed->point());
}

Status ModelPlanner::choose(const DumpOptions& options, std::optional<core::BackendKind> own,
                            DumpPlan& plan) {
  const std::optional<std::string> backend =
      own ? std::optional(std::string(core::backendName(*own))) : options.backend;
  MSDBG_ASSIGN(plan.backend, backendFrom(backend));
  MSDBG_ASSIGN(const core::PlanChoices choices, readChoices(options.plan));
  plan.passes = choices.passes.text();
  plan.recompute = choices.recompute;
  plan.cudaModule = core::cudaModule();
  return Ok{};
}

Status ModelPlanner::readFaults(const DumpOptions& options, const DumpPlan& plan) {
  MSDBG_ASSIGN(m_faults, parseFaults(options.faults, plan.ranks));
  return Ok{};
}

Status ModelPlanner::planModel(const DumpOptions& options, DumpPlan& plan) {
  MSDBG_TRY(checkRanksOfModel(plan.ranks));
  if (options.python.any())
    return Error(ErrorCode::kUsage,
                 "dump: --level and --compile are for PyTorch programs; of a model everything is recorded");
  MSDBG_ASSIGN(const ModelTraining training, ModelTraining::choose(options.model, plan.ranks));
  MSDBG_ASSIGN(const auto loader, training.loader(plan.seed));
  plan.model = options.model.model;
  plan.data = training.data;
  if (!plan.steps) plan.steps = kDefaultSteps;
  plan.program = {fs::read_symlink("/proc/self/exe").string(), "train-model", plan.model};
  plan.modelOptions = training.optionWords(plan.ranks);
  for (const auto& [name, value] : plan.modelOptions) plan.program.insert(plan.program.end(), {name, value});
  if (m_resumed)
    plan.program.insert(plan.program.end(), {"--resume", plan.resume->run.string(), "--checkpoint",
                                             std::to_string(plan.resume->checkpoint.value), "--from",
                                             std::to_string(plan.firstIteration())});
  return planGraph(options, training, *loader, plan, m_faults, m_resumed ? &*m_resumed : nullptr);
}

TrainingPlanner::Libraries ModelPlanner::libraries() const { return core::cpuInfo().libraries; }

TrainingPlanner::Libraries ModelPlanner::deviceLibraries(const DumpPlan& plan) const {
  const auto device = core::deviceLibraries(plan.backend, core::Rank(0));
  return device.ok() ? *device : Libraries();
}

// Of a program nobody knows beforehand how long it trains.
std::vector<std::string> ModelPlanner::idleFaults(const DumpPlan& plan, std::int64_t iterations) const {
  std::vector<std::string> idle;
  const core::Iteration first(plan.firstIteration()), last(plan.firstIteration() + iterations - 1);
  for (const core::FaultSpec& fault : m_faults)
    if (const std::string why = core::whyNeverActed(fault, first, last); !why.empty()) idle.push_back(why);
  return idle;
}

}  // namespace msdbg::app
