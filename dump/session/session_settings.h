// What the environment and the command line tell a Session; see session.h for their names. Values only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/base/result.h"
#include "core_engine/plan/pass_selection.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/fault.h"
#include "dump/run_info.h"
#include "dump/session/environment_options.h"

namespace msdbg::dump {

/// OpenMP ends a program that wants many more without a word. Runs of larger machines can be repeated here:
/// not so many as there are cores.
inline constexpr int kMostThreads = 1024;

struct SessionSettings {
  std::filesystem::path run;  // "": not recorded
  RecordOptions options;
  std::uint64_t seed = 0;
  int threads = 0;  // 0: cores / ranks
  core::BackendKind backend = core::BackendKind::kFast;
  std::optional<std::int64_t> steps;
  std::vector<core::FaultSpec> faults;
  core::PlanChoices plan;
  std::filesystem::path control;  // the launcher's RunControl; "": none
  bool launcher = false;          // the launcher writes run.json
  std::string runId;              // that the launcher wrote there; "": it does not say
  std::vector<std::string> command;

  /// kUsage names the variable or option and what it should be.
  static core::Result<SessionSettings> read(int argc, char** argv);
};

/// What a program's own arguments tell its Session, whatever the environment says. A value that is no valid
/// number is left out: the program may mean something else by the option.
struct ProgramNumbers {
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;
  std::optional<core::BackendKind> backend;
  std::optional<std::int64_t> steps;
};
ProgramNumbers programNumbers(const std::vector<std::string>& command);

}  // namespace msdbg::dump
