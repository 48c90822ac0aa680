// --step and --steps: places asked for by the numbers that the user's own program gives its steps
// (`msdbg.step(n)`), and these numbers in what is printed. Main thread only.
#pragma once

#include <CLI/CLI.hpp>

#include "app/cli/json_output.h"
#include "app/cli/run_access.h"

namespace msdbg::app {

/// Beside --iteration.
void addStepOption(CLI::App& app, std::optional<std::int64_t>& step);
/// Beside --iterations.
void addStepsOption(CLI::App& app, std::string& steps);

/// Puts the iteration of that step where --iteration would put it. kUsage: both are given, the program told
/// no steps, or not that one (which there are).
core::Status takeStep(const OpenedRun& run, core::Rank rank, std::optional<std::int64_t> step,
                      std::optional<std::int64_t>& iteration);
/// The same of a list, each part in its turn: "41003,41007" becomes "3,7". Steps of the first rank.
core::Status takeSteps(const OpenedRun& run, const std::string& steps, std::string& iterations);

/// "step", where the program told its own number of the iteration.
void addStep(Json& json, const OpenedRun& run, core::Rank rank, core::Iteration iteration);

}  // namespace msdbg::app
