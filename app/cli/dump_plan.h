// What `msdbg dump` is about to do, decided and checked before anything is started or written. Main thread
// only.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/like_run.h"
#include "app/cli/model_settings.h"
#include "app/cli/python_program.h"
#include "app/cli/recording_options.h"
#include "app/cli/training_planner.h"
#include "core_engine/base/backend_kind.h"
#include "dump/policy/rule_doubts.h"
#include "dump/writer/disk_space.h"

namespace msdbg::app {

/// The options as given.
struct DumpOptions {
  std::string run, resume, like;
  ModelSettings model;
  RecordingOptions recording;
  PythonOptions python;
  std::vector<std::string> faults;
  PlanSettings plan;
  std::optional<std::int64_t> steps;
  std::optional<std::uint64_t> seed;
  std::optional<int> ranks, threads;
  std::optional<std::string> backend;
  bool dryRun = false, force = false, timing = false, isPrivate = false;
};

/// Where training goes on: after what the run has. The state there is computed again from a checkpoint of it
/// and its batches.
struct ResumePoint {
  std::filesystem::path run;  // absolute
  core::Iteration checkpoint{0};
  core::Iteration iteration{0};  // the first new one
};

struct DumpPlan {
  std::filesystem::path run;
  std::vector<std::string> program;                               // what each rank runs
  std::string model, data;                                        // "" for a program
  std::vector<std::pair<std::string, std::string>> modelOptions;  // "--batch", "64"; none for a program
  int ranks = 1, threads = 1;
  core::BackendKind backend = core::BackendKind::kFast;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> steps;
  std::vector<std::string> faults;
  std::string passes;                  // as MSDBG_PASSES is read
  std::vector<std::string> recompute;  // globs of scopes
  std::string cudaModule;              // for the ranks; "": they look for it
  dump::RecordOptions record;
  PythonOptions python;
  bool force = false, isPrivate = false;
  std::optional<ResumePoint> resume;
  std::optional<dump::ExpectedSize> size;  // known for models, and where there is a run like it
  std::optional<LikeRun> like;             // of a dry run; `program` may be empty then
  std::vector<std::string> doubts;         // probably mistakes: to warn with
  dump::DiskSpace disk;                    // where the run will lie

  /// 0, or the one after the last of the run that is gone on from.
  std::int64_t firstIteration() const { return resume ? resume->iteration.value : 0; }
  dump::PlannedRun planned() const { return {ranks, firstIteration(), steps}; }
  /// What the whole run may take: --max-size, or less where the disk has less to spare.
  std::uint64_t budget() const;

  /// Whether the program decides how many ranks there are: torchrun, a shell script. Then `ranks` is 1.
  bool startsOwnRanks() const { return model.empty() && ranks == 1; }
  bool isPython() const { return !program.empty() && model.empty() && startsPython(program); }
  /// The variables a Session reads (dump/session/session.h), and those of PyTorch's recorder.
  std::vector<std::pair<std::string, std::string>> environment(const std::string& id) const;
};

/// Every mistake that can be known beforehand is an error here, kUsage or kNotFound; kUnsupported: the engine
/// is needed, and is not here. `planner` is a new one.
core::Result<DumpPlan> planDump(DumpOptions options, const Context& context, TrainingPlanner& planner);

}  // namespace msdbg::app
