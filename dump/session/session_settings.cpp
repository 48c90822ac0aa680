#include "dump/session/session_settings.h"

#include <stdlib.h>
#include <unistd.h>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

// A program's own arguments win.
Status readNumbers(SessionSettings& settings) {
  ProgramNumbers numbers;
  for (const ProgramNumber& each : kProgramNumbers)
    if (const std::string text = environment(each.variable); !text.empty())
      MSDBG_TRY(numbers.take(each.name, each.variable, text));
  MSDBG_TRY(numbers.takeArguments(settings.command));
  settings.steps = numbers.steps;
  settings.seed = numbers.seed.value_or(settings.seed);
  settings.threads = numbers.threads.value_or(settings.threads);
  settings.backend = numbers.backend.value_or(settings.backend);
  return Ok{};
}

// A letter more, less, another one, or two swapped. Two edits would take --heads for --threads.
bool oneEditApart(std::string_view a, std::string_view b) {
  if (a == b) return false;
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  if (a.size() == 2 && b.size() == 2) return a[0] == b[1] && a[1] == b[0];
  return a.size() <= 1 && b.size() <= 1;
}

// A program's own options are its own; one that is nearly ours may be meant for us.
void warnOfNearMisses(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const std::string option = words[i].substr(0, words[i].find('='));
    for (const ProgramNumber& row : kProgramNumbers)
      if (option.starts_with("--") && oneEditApart(option.substr(2), row.name))
        core::logWarn(option + " is not an option of msdbg's Session; did you mean --" + row.name + "?");
  }
}

Status readFaults(SessionSettings& settings) {
  for (const std::string& text : core::split(environment("MSDBG_FAULTS"), ';')) {
    if (text.empty()) continue;
    MSDBG_ASSIGN(core::FaultSpec fault, core::parseFault(text));
    settings.faults.push_back(std::move(fault));
  }
  return Ok{};
}

// One warning is enough for all ranks.
bool isFirstRank() {
  const std::string rank = environment("OMPI_COMM_WORLD_RANK");
  return rank.empty() || rank == "0";
}

}  // namespace

Result<SessionSettings> SessionSettings::read(int argc, char** argv) {
  SessionSettings settings;
  settings.command.assign(argv, argv + argc);
  settings.run = environment("MSDBG_DUMP");
  settings.control = environment("MSDBG_CONTROL");
  settings.launcher = environment("MSDBG_RUN_INFO") == "launcher";
  settings.runId = environment("MSDBG_RUN_ID");
  if (!settings.run.empty()) {
    if (isFirstRank() && !settings.launcher) warnOfUnknownVariables();  // the launcher has
    MSDBG_ASSIGN(settings.options, environmentOptions());
  }
  MSDBG_TRY(readNumbers(settings));
  if (isFirstRank()) warnOfNearMisses(settings.command);
  MSDBG_TRY(readFaults(settings));
  MSDBG_ASSIGN(settings.plan, core::PlanChoices::fromEnvironment());
  return settings;
}

}  // namespace msdbg::dump
