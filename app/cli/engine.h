// Engine: what msdbg's own engine does for the command line, behind an interface, so that the commands exist
// in a program that is linked without it (pip's msdbg) as well. main() chooses: builtinEngine() of
// app/cli/engine, or noEngine(), which says of each question that it cannot answer it, and why. Stateless;
// main thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/cli/command.h"
#include "app/cli/training_planner.h"
#include "core_engine/base/cancel.h"
#include "replay/computed_values.h"
#include "replay/history.h"

namespace msdbg::replay {
struct Comparison;
struct ComparisonOptions;
}  // namespace msdbg::replay

namespace msdbg::app {

class Engine {
 public:
  using Progress = std::function<void(std::int64_t done, std::int64_t all)>;
  virtual ~Engine() = default;

  // --- the program ---
  /// One of the rows of builtin_commands.cpp that name the engine's. Without a setup where there is no
  /// engine.
  virtual Command command(std::string_view name) const = 0;
  /// What of `msdbg --version` is about the engine: whole lines.
  virtual std::string versionText() const = 0;
  /// What to begin with, for the help: a line of the shell.
  virtual std::string_view firstCommand() const = 0;

  // --- a run, computed again; the run outlives what is given. kUnsupported, kUnavailable: it cannot be ---
  virtual core::Result<std::unique_ptr<replay::ComputedValues>> values(replay::Run& run,
                                                                       core::CancelToken cancel,
                                                                       Progress progress) const = 0;
  virtual core::Result<std::unique_ptr<replay::ElementComputer>> elements(replay::Run& run,
                                                                          core::CancelToken cancel) const = 0;
  virtual core::Result<std::unique_ptr<replay::Rechecks>> rechecks(replay::Run& run,
                                                                   core::CancelToken cancel) const = 0;
  /// What was recorded against what is computed.
  virtual core::Result<replay::Comparison> compareComputed(
      replay::Run& run, const core::IterationSet& iterations,
      const replay::ComparisonOptions& options) const = 0;

  // --- dump ---
  virtual std::unique_ptr<TrainingPlanner> planner() const = 0;
};

/// kUnsupported: `what` needs the engine, and where there is one.
core::Error needsEngine(std::string_view what);
const Engine& noEngine();

}  // namespace msdbg::app
