// Command: one row of `msdbg`. A command is one file <name>.cpp with a factory, and a row in
// builtin_commands.cpp. Used from the main thread only.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/cancel.h"
#include "core_engine/base/result.h"

namespace msdbg::app {

class Engine;

/// What every command gets besides its own options.
struct Context {
  explicit Context(const Engine& installed) : engine(installed) {}

  const Engine& engine;  // what computes, or says that nothing here does
  bool json = false;
  core::CancelToken cancel;              // set by Ctrl-C
  std::vector<std::string> commandLine;  // as typed, msdbg itself first
  std::vector<std::string> program;      // what stands behind `--`
};

struct Command {
  using Run =
      std::function<core::Result<int>()>;  // gives the exit status; an Error becomes one line on stderr

  std::string_view name, summary, examples;
  /// Adds the options and returns what to do once they are parsed. The Context outlives it. nullptr: it needs
  /// the engine, and this program has none.
  Run (*setup)(CLI::App& options, Context& context) = nullptr;
  bool takesProgram = false;  // `-- PROGRAM…` may follow
  bool hidden = false;        // not in the help: used by msdbg itself
};

using CommandFactory = Command (*)();
/// A command of a file here, or the name of one that the engine has (app/cli/engine/engine_commands.cpp).
struct CommandRow {
  CommandFactory make = nullptr;
  std::string_view ofEngine = {};
  bool hidden = false;  // of the engine's, where there is none to ask
};
std::span<const CommandRow> builtinCommands();  // builtin_commands.cpp: the only list
Command commandOf(const CommandRow& row, const Engine& engine);

// Exit statuses that are no errors (DESIGN.md, "The command line").
inline constexpr int kExitFine = 0, kExitDamaged = 1, kExitUsage = 2, kExitHits = 3, kExitNoAnswer = 4,
                     kExitCtrlC = 130;
int exitStatus(core::ErrorCode code);

/// "msdbg: error: …" on stderr, one line that a terminal only shows, whatever the message quotes.
void printError(std::string_view message);
void printWarning(std::string_view message);

/// Lets the signal set the token of the running command, as SIGINT does. SIGHUP stays ignored where it is:
/// under nohup.
void catchSignal(int signal);
/// The first signal that set it; 0: none.
int interruptSignal();

/// kCancelled, for long work that saw context.cancel.
core::Error cancelledError();

/// The whole program: finds the command, parses, runs, prints an error; gives the exit status.
int runCommandLine(int argc, char** argv, const Engine& engine);

}  // namespace msdbg::app
