#include "app/cli/dump_plan.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "app/cli/resume.h"
#include "core_engine/base/text.h"
#include "core_engine/passes/pipeline.h"
#include "core_engine/plan/recompute_scopes.h"
#include "core_engine/runtime/fault.h"
#include "dump/policy/foreign_defaults.h"
#include "dump/session/environment_options.h"
#include "dump/session/session_settings.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

constexpr std::int64_t kMostRanks = 256;

// NAME-1.msdbg, NAME-2.msdbg, …: the first that is free.
fs::path freeName(const std::string& name) {
  for (int n = 1;; ++n)
    if (const fs::path path = fmt::format("{}-{}.msdbg", name, n); !fs::exists(fs::symlink_status(path)))
      return path;
}

// `--tensors a b MODEL`: the last word was meant as the model.
void takeModelFromTensors(DumpOptions& options) {
  std::vector<std::string>& tensors = options.recording.tensors;
  if (!options.model.model.empty() || tensors.empty() || !core::findModel(tensors.back())) return;
  options.model.model = tensors.back();
  tensors.pop_back();
}

bool isExecutable(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return access(program.c_str(), X_OK) == 0 && !fs::is_directory(program);
  const char* path = getenv("PATH");
  for (const std::string& folder : core::split(path ? path : "", ':'))
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

// What a Session would read, and no script does.
Status checkPythonTakes(const DumpOptions& options, const std::vector<std::string>& program) {
  const std::pair<bool, const char*> ours[] = {{options.steps.has_value(), "--steps"},
                                               {options.seed.has_value(), "--seed"},
                                               {options.threads.has_value(), "--threads"},
                                               {options.backend.has_value(), "--backend"},
                                               {!options.faults.empty(), "--fault"}};
  for (const auto& [given, option] : ours)
    if (given && startsPython(program))
      return Error(ErrorCode::kUsage,
                   fmt::format("dump: {} means nothing to a program in Python: say it to the "
                               "script, in its own way",
                               option));
  return Ok{};
}

Status planProgram(const DumpOptions& options, const Context& context, DumpPlan& plan) {
  const ModelSettings& model = options.model;
  if (!model.model.empty())
    return Error(ErrorCode::kUsage,
                 fmt::format("dump: either the model {} or a program, not both", model.model));
  if (model.givesModelOptions())
    return Error(ErrorCode::kUsage,
                 "dump: --data, --batch, --lr, --dropout and sizes are for models; give a program's own "
                 "options behind its name");
  MSDBG_TRY(options.python.check());
  MSDBG_TRY(checkPythonTakes(options, context.program));
  plan.program = context.program;
  plan.python = options.python;
  if (!isExecutable(plan.program[0]))
    return Error(ErrorCode::kUsage, fmt::format("cannot start {}: {}", plan.program[0],
                                                fs::exists(plan.program[0]) ? "it is not executable"
                                                                            : "there is no such program"));
  return Ok{};
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
  MSDBG_TRY(core::checkRecomputed(graph, plan.choices.recompute));
  auto bound = core::FaultInjector::bind(faults, graph, core::Rank(0));
  if (!bound.ok()) return bound.error().in("--fault");
  MSDBG_TRY(checkFaultsAct(faults, plan));
  const core::Batch example = loader.batch(core::Iteration(0), core::Rank(0), plan.ranks);
  MSDBG_ASSIGN(plan.size, dump::expectedSize(graph, plan.record, plan.ranks, *plan.steps, &example,
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

Status planModel(const DumpOptions& options, DumpPlan& plan, const std::vector<core::FaultSpec>& faults,
                 const Resumed* resumed) {
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
  if (resumed)
    plan.program.insert(plan.program.end(), {"--resume", plan.resume->run.string(), "--checkpoint",
                                             std::to_string(plan.resume->checkpoint.value), "--from",
                                             std::to_string(plan.firstIteration())});
  return planGraph(options, training, *loader, plan, faults, resumed);
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

Status checkNumbers(const DumpOptions& options) {
  const int ranks = options.ranks.value_or(1);
  if (ranks < 1 || ranks > kMostRanks)
    return Error(ErrorCode::kUsage, fmt::format("-n {}: from 1 to {} ranks", ranks, kMostRanks));
  if (options.steps && *options.steps < 1) return Error(ErrorCode::kUsage, "--steps must be at least 1");
  if (const int threads = options.threads.value_or(1); threads < 1 || threads > dump::kMostThreads)
    return Error(ErrorCode::kUsage,
                 fmt::format("--threads {}: from 1 to {} threads of each rank", threads, dump::kMostThreads));
  return Ok{};
}

// The options become those of the run that is gone on from.
Result<Resumed> openResumed(DumpOptions& options, const Context& context) {
  if (!context.program.empty())
    return Error(ErrorCode::kUsage,
                 "--resume is for built-in models; a program of your own goes on by "
                 "msdbg::restore(trainer, run)");
  MSDBG_ASSIGN(Resumed resumed, Resumed::open(options.resume));
  MSDBG_TRY(resumed.complete(options));
  return resumed;
}

std::string runName(const std::vector<std::string>& program) {
  return startsPython(program) ? pythonRunName(program) : fs::path(program[0]).stem().string();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> DumpPlan::environment(const std::string& id) const {
  std::vector<std::pair<std::string, std::string>> variables = {
      {"MSDBG_DUMP", fs::absolute(run).string()},
      {"MSDBG_DUMP_OPTIONS", dump::optionsText(record)},
      {"MSDBG_DUMP_CONFIG", ""},  // is in there
      {"MSDBG_RUN_INFO", "launcher"},
      {"MSDBG_RUN_ID", id},
      {"MSDBG_SEED", std::to_string(seed)},
      {"MSDBG_THREADS", std::to_string(threads)},
      {"MSDBG_BACKEND", std::string(core::backendName(backend))},
      {"MSDBG_FAULTS", core::join(faults, ";")},
      {"MSDBG_PASSES", choices.passes.text()},
      {"MSDBG_RECOMPUTE", core::join(choices.recompute, ";")}};
  variables.emplace_back("MSDBG_STEPS", steps ? std::to_string(*steps) : "");
  if (const std::string module = core::cudaModule(); !module.empty())
    variables.emplace_back("MSDBG_CUDA_MODULE", module);
  if (model.empty()) {
    const auto forPython = python.environment();
    variables.insert(variables.end(), forPython.begin(), forPython.end());
  }
  return variables;
}

std::uint64_t DumpPlan::budget() const {
  return std::min(record.maxBytes, dump::spareBytes(disk, record.keepFree));
}

Result<DumpPlan> planDump(DumpOptions options, const Context& context) {
  takeModelFromTensors(options);
  std::optional<Resumed> resumed;
  if (!options.resume.empty()) {
    MSDBG_ASSIGN(resumed, openResumed(options, context));
  }
  MSDBG_TRY(checkNumbers(options));
  if (options.model.model.empty() && context.program.empty())
    return Error(ErrorCode::kUsage, "dump: what is to be trained? give a model (msdbg models) or -- PROGRAM");
  DumpPlan plan;
  if (resumed) plan.resume = resumed->point();
  plan.ranks = options.ranks.value_or(1);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  // Its Session takes these. What a Python program means by them is its own affair.
  const bool hasSession = !context.program.empty() && !startsPython(context.program);
  const dump::ProgramNumbers own =
      dump::programNumbers(hasSession ? context.program : std::vector<std::string>());
  plan.threads = own.threads.value_or(options.threads.value_or(std::max(1, cores / plan.ranks)));
  // Before anything is written.
  const std::optional<std::string> backend =
      own.backend ? std::optional(std::string(core::backendName(*own.backend))) : options.backend;
  MSDBG_ASSIGN(plan.backend, backendFrom(backend));
  plan.seed = own.seed.value_or(options.seed.value_or(0));
  plan.steps = own.steps ? own.steps : options.steps;
  plan.faults = options.faults;
  plan.force = options.force;
  plan.isPrivate = options.isPrivate;
  MSDBG_ASSIGN(plan.choices, options.plan.read());
  MSDBG_ASSIGN(plan.record, options.recording.read());
  if (!context.program.empty() && startsPython(context.program))
    plan.record = dump::foreignDefaults(std::move(plan.record));
  MSDBG_ASSIGN(const std::vector<core::FaultSpec> faults, parseFaults(options.faults, plan.ranks));
  MSDBG_TRY(context.program.empty() ? planModel(options, plan, faults, resumed ? &*resumed : nullptr)
                                    : planProgram(options, context, plan));
  const std::vector<std::string> doubts = dump::planDoubts(plan.record, plan.planned());
  plan.doubts.insert(plan.doubts.end(), doubts.begin(), doubts.end());
  const std::string name = plan.model.empty() ? runName(plan.program) : plan.model;
  plan.run = options.run.empty() ? freeName(name) : fs::path(options.run);
  while (plan.run.has_relative_path() && !plan.run.has_filename()) plan.run = plan.run.parent_path();
  if (std::error_code error; resumed && fs::equivalent(plan.run, plan.resume->run, error))
    return Error(ErrorCode::kUsage,
                 fmt::format("-o {}: a run goes on in a folder of its own", plan.run.string()));
  MSDBG_ASSIGN(plan.disk, dump::diskSpace(plan.run));
  return plan;
}

}  // namespace msdbg::app
