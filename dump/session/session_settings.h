// What the environment and the command line tell a Session; see session.h for their names. Values only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/base/result.h"
#include "core_engine/plan/pass_selection.h"
#include "core_engine/runtime/fault.h"
#include "dump/run_info.h"
#include "dump/session/environment_options.h"
#include "dump/session/program_numbers.h"

namespace msdbg::dump {

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

}  // namespace msdbg::dump
