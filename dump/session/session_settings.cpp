#include "dump/session/session_settings.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>

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

template <typename T>
struct Range {
  T least, most;
  std::string text() const {
    return "a whole number from " + std::to_string(least) +
           (most == std::numeric_limits<T>::max() ? "" : " to " + std::to_string(most));
  }
};
constexpr Range<std::int64_t> kSteps{1, std::numeric_limits<std::int64_t>::max()};
constexpr Range<std::uint64_t> kSeeds{0, std::numeric_limits<std::uint64_t>::max()};
constexpr Range<int> kThreads{1, kMostThreads};

template <typename T>
Result<T> number(const std::string& origin, const std::string& text, const Range<T>& range) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < range.least || value > range.most)
    return Error(ErrorCode::kUsage, origin + ": '" + text + "' is not " + range.text());
  return value;
}

Status takeSetting(SessionSettings& settings, std::string_view what, const std::string& origin,
                   const std::string& text) {
  if (what == "steps") {
    MSDBG_ASSIGN(settings.steps, number(origin, text, kSteps));
  } else if (what == "seed") {
    MSDBG_ASSIGN(settings.seed, number(origin, text, kSeeds));
  } else if (what == "threads") {
    MSDBG_ASSIGN(settings.threads, number(origin, text, kThreads));
  } else if (what == "backend") {
    const Result<core::BackendKind> kind = core::backendNamed(text);
    if (!kind.ok()) return kind.error().in(origin);
    settings.backend = *kind;
  }
  return Ok{};
}

constexpr struct {
  const char *variable, *name;
} kSettings[] = {{"MSDBG_STEPS", "steps"},
                 {"MSDBG_SEED", "seed"},
                 {"MSDBG_THREADS", "threads"},
                 {"MSDBG_BACKEND", "backend"}};

// `--steps 5` or `--steps=5`. All other arguments belong to the program. take(name, option, text or nullopt)
template <typename Take>
Status forEachSetting(const std::vector<std::string>& words, const Take& take) {
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    for (const auto& row : kSettings) {
      const std::string option = std::string("--") + row.name;
      std::optional<std::string> text;
      if (words[i].starts_with(option + "="))
        text = words[i].substr(option.size() + 1);
      else if (words[i] == option && i + 1 < words.size())
        text = words[i + 1];
      else if (words[i] != option)
        continue;
      MSDBG_TRY(take(row.name, option, text));
    }
  }
  return Ok{};
}

Status readArguments(SessionSettings& settings) {
  return forEachSetting(settings.command, [&](const char* name, const std::string& option, const auto& text) {
    if (text) return takeSetting(settings, name, option, *text);
    const std::string example = std::string_view(name) == "backend" ? " cuda" : " 8";
    return Status(Error(ErrorCode::kUsage, option + " needs a value, such as " + option + example));
  });
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
    for (const auto& row : kSettings)
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

ProgramNumbers programNumbers(const std::vector<std::string>& command) {
  ProgramNumbers numbers;
  (void)forEachSetting(command, [&](std::string_view name, const std::string& option, const auto& text) {
    SessionSettings one;
    if (!text || !takeSetting(one, name, option, *text).ok()) return Status(Ok{});
    if (name == "steps") numbers.steps = one.steps;
    if (name == "seed") numbers.seed = one.seed;
    if (name == "threads") numbers.threads = one.threads;
    if (name == "backend") numbers.backend = one.backend;
    return Status(Ok{});
  });
  return numbers;
}

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
  for (const auto& row : kSettings)
    if (const std::string text = environment(row.variable); !text.empty())
      MSDBG_TRY(takeSetting(settings, row.name, row.variable, text));
  MSDBG_TRY(readArguments(settings));
  if (isFirstRank()) warnOfNearMisses(settings.command);
  MSDBG_TRY(readFaults(settings));
  MSDBG_ASSIGN(settings.plan, core::PlanChoices::fromEnvironment());
  return settings;
}

}  // namespace msdbg::dump
