#include "app/cli/dump_plan.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "app/cli/run_access.h"
#include "core_engine/base/text.h"
#include "dump/policy/foreign_defaults.h"
#include "dump/session/environment_options.h"
#include "dump/session/program_numbers.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

constexpr int kMostRanks = 256, kMostLikeRanks = 100'000;  // that are started, that are only counted

// NAME-1.msdbg, NAME-2.msdbg, …: the first that is free.
fs::path freeName(const std::string& name) {
  for (int n = 1;; ++n)
    if (const fs::path path = fmt::format("{}-{}.msdbg", name, n); !fs::exists(fs::symlink_status(path)))
      return path;
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
    if (given && startsPython(program) && (options.like.empty() || option != std::string_view("--steps")))
      return Error(
          ErrorCode::kUsage,
          fmt::format("dump: {} means nothing to a program in Python: say it to the "
                      "script, in its own way{}",
                      option,
                      options.dryRun ? "; " + adviceToMeasure(program, options.ranks, options.steps) : ""));
  return Ok{};
}

Status planProgram(const DumpOptions& options, const Context& context, DumpPlan& plan) {
  const ModelSettings& model = options.model;
  if (!model.model.empty())
    return Error(ErrorCode::kUsage,
                 fmt::format("dump: either the model {} or a program, not both", model.model));
  if (model.givesModelOptions())
    return Error(
        ErrorCode::kUsage,
        "dump: --data, --batch, --lr, --dropout, --precision and sizes are for models; give a program's own "
        "options behind its name");
  MSDBG_TRY(options.python.check());
  MSDBG_TRY(checkPythonTakes(options, context.program));
  plan.program = context.program;
  plan.python = options.python;
  if (options.like.empty() && !isExecutable(plan.program[0]))  // else it starts elsewhere
    return Error(ErrorCode::kUsage, fmt::format("cannot start {}: {}", plan.program[0],
                                                fs::exists(plan.program[0]) ? "it is not executable"
                                                                            : "there is no such program"));
  return Ok{};
}

// A training like that of a run, not started: nothing but numbers.
Status planLike(const DumpOptions& options, DumpPlan& plan) {
  MSDBG_ASSIGN(LikeRun like, readLikeRun(options.like, options.python.level));
  if (!options.ranks) plan.ranks = like.ranks;
  plan.python.level = like.level;
  if (!like.from.empty()) plan.record = dump::foreignDefaults(std::move(plan.record));
  MSDBG_ASSIGN(plan.doubts, options.recording.check(like.measured.graph, plan.record, options.dryRun));
  MSDBG_ASSIGN(plan.size, dump::expectedSize(like.measured, plan.record, plan.ranks, *plan.steps));
  MSDBG_ASSIGN(const auto shadowed,
               dump::shadowedRules(like.measured.graph, plan.record, plan.planned(), *plan.size));
  plan.doubts.insert(plan.doubts.end(), shadowed.begin(), shadowed.end());
  plan.like = std::move(like);
  return Ok{};
}

Status checkLike(const DumpOptions& options) {
  if (options.like.empty()) return Ok{};
  if (!options.dryRun)
    return Error(ErrorCode::kUsage, "--like only says what would be recorded: give --dry-run, too");
  if (!options.model.model.empty() || !options.resume.empty())
    return Error(ErrorCode::kUsage, "--like is for programs: of a built-in model everything is known");
  if (!options.steps) return Error(ErrorCode::kUsage, "--like: how long is the training? give --steps N");
  return Ok{};
}

Status checkNumbers(const DumpOptions& options) {
  const int ranks = options.ranks.value_or(1), most = options.like.empty() ? kMostRanks : kMostLikeRanks;
  if (ranks < 1 || ranks > most)
    return Error(ErrorCode::kUsage, fmt::format("-n {}: from 1 to {} ranks", ranks, most));
  if (options.steps && *options.steps < 1) return Error(ErrorCode::kUsage, "--steps must be at least 1");
  if (const int threads = options.threads.value_or(1); threads < 1 || threads > dump::kMostThreads)
    return Error(ErrorCode::kUsage,
                 fmt::format("--threads {}: from 1 to {} threads of each rank", threads, dump::kMostThreads));
  return Ok{};
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
      {"MSDBG_PASSES", passes},
      {"MSDBG_RECOMPUTE", core::join(recompute, ";")}};
  variables.emplace_back("MSDBG_STEPS", steps ? std::to_string(*steps) : "");
  if (!cudaModule.empty()) variables.emplace_back("MSDBG_CUDA_MODULE", cudaModule);
  if (model.empty()) {
    const auto forPython = python.environment();
    variables.insert(variables.end(), forPython.begin(), forPython.end());
  }
  return variables;
}

std::uint64_t DumpPlan::budget() const {
  return std::min(record.maxBytes, dump::spareBytes(disk, record.keepFree));
}

Result<DumpPlan> planDump(DumpOptions options, const Context& context, TrainingPlanner& planner) {
  if (!options.resume.empty() && !context.program.empty())
    return Error(ErrorCode::kUsage,
                 "--resume is for built-in models; a program of your own goes on by "
                 "msdbg::restore(trainer, run)");
  DumpPlan plan;
  MSDBG_ASSIGN(plan.resume, planner.begin(options, context));
  MSDBG_TRY(checkNumbers(options));
  MSDBG_TRY(checkLike(options));
  if (options.model.model.empty() && context.program.empty() && options.like.empty())
    return Error(ErrorCode::kUsage, "dump: what is to be trained? give a model (msdbg models) or -- PROGRAM");
  plan.ranks = options.ranks.value_or(1);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  // Its Session takes these. What a Python program means by them is its own affair.
  const bool hasSession = !context.program.empty() && !startsPython(context.program);
  const dump::ProgramNumbers own =
      dump::programNumbers(hasSession ? context.program : std::vector<std::string>());
  plan.threads = own.threads.value_or(options.threads.value_or(std::max(1, cores / plan.ranks)));
  plan.seed = own.seed.value_or(options.seed.value_or(0));
  plan.steps = own.steps ? own.steps : options.steps;
  plan.faults = options.faults;
  plan.force = options.force;
  plan.isPrivate = options.isPrivate;
  MSDBG_TRY(planner.choose(options, own.backend, plan));  // before anything is written
  MSDBG_ASSIGN(plan.record, options.recording.read());
  if (!context.program.empty() && startsPython(context.program))
    plan.record = dump::foreignDefaults(std::move(plan.record));
  MSDBG_TRY(planner.readFaults(options, plan));
  if (!context.program.empty()) {
    MSDBG_TRY(planProgram(options, context, plan));
  } else if (options.like.empty()) {
    MSDBG_TRY(planner.planModel(options, plan));
  }
  if (!options.like.empty()) MSDBG_TRY(planLike(options, plan));
  const std::vector<std::string> doubts = dump::planDoubts(plan.record, plan.planned());
  plan.doubts.insert(plan.doubts.end(), doubts.begin(), doubts.end());
  const std::string name = !plan.model.empty()     ? plan.model
                           : !plan.program.empty() ? runName(plan.program)
                                                   : plainPath(options.like).stem().string();
  plan.run = options.run.empty() ? freeName(name) : fs::path(options.run);
  while (plan.run.has_relative_path() && !plan.run.has_filename()) plan.run = plan.run.parent_path();
  if (std::error_code error; plan.resume && fs::equivalent(plan.run, plan.resume->run, error))
    return Error(ErrorCode::kUsage,
                 fmt::format("-o {}: a run goes on in a folder of its own", plan.run.string()));
  const bool elsewhere = plan.like && options.run.empty();  // nobody knows on which disk
  MSDBG_ASSIGN(plan.disk,
               elsewhere ? dump::DiskSpace{.free = dump::DiskSpace::kUnknown} : dump::diskSpace(plan.run));
  return plan;
}

}  // namespace msdbg::app
