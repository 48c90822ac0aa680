// The numbers that a program on msdbg's engine takes from its environment and its own arguments: its Session
// reads them, and who starts it knows them beforehand. Needs no engine. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/backend_kind.h"

namespace msdbg::dump {

/// OpenMP ends a program that wants many more without a word. Runs of larger machines can be repeated here:
/// not so many as there are cores.
inline constexpr int kMostThreads = 1024;

struct ProgramNumber {
  const char *variable, *name;  // the option is --NAME
};
inline constexpr ProgramNumber kProgramNumbers[] = {{"MSDBG_STEPS", "steps"},
                                                    {"MSDBG_SEED", "seed"},
                                                    {"MSDBG_THREADS", "threads"},
                                                    {"MSDBG_BACKEND", "backend"}};

struct ProgramNumbers {
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;
  std::optional<core::BackendKind> backend;
  std::optional<std::int64_t> steps;

  /// One of kProgramNumbers. kUsage names `origin`, a variable or an option, and what it should be.
  core::Status take(std::string_view name, const std::string& origin, const std::string& text);
  /// Those of a command line, the program first. kUsage, also for an option without a value.
  core::Status takeArguments(const std::vector<std::string>& command);
};

/// What a program's own arguments tell its Session, whatever the environment says. A value that is no valid
/// number is left out: the program may mean something else by the option.
ProgramNumbers programNumbers(const std::vector<std::string>& command);

}  // namespace msdbg::dump
