#include "app/cli/step_options.h"

#include <fmt/format.h>

#include "replay/user_steps.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

Result<replay::UserSteps> stepsOf(const OpenedRun& run, core::Rank rank, const char* flag, bool both) {
  if (both)
    return Error(ErrorCode::kUsage,
                 fmt::format("{} and {}: give one of them", flag,
                             flag == std::string_view("--step") ? "--iteration" : "--iterations"));
  replay::UserSteps steps = replay::userSteps(*run.run, rank);
  if (steps.empty())
    return Error(ErrorCode::kUsage,
                 fmt::format("{}: the program of {} gave its steps no numbers (msdbg.step(n) in the script "
                             "does); --iteration counts from 0",
                             flag, run.path));
  return steps;
}

Error noSuchStep(const OpenedRun& run, const char* flag, const std::string& asked,
                 const replay::UserSteps& steps) {
  return {ErrorCode::kUsage,
          fmt::format("{} {}: no such step is recorded in {}; there are steps from {} to {}", flag, asked,
                      run.path, steps.first(), steps.last())};
}

// The iterations of one part of a list: "41003", "41003-41007", "41005-".
Result<std::string> iterationsOf(const OpenedRun& run, const std::string& part,
                                 const replay::UserSteps& steps) {
  auto list = core::IndexList::parse(part);
  if (!list.ok()) return list.error().in("--steps");
  core::IterationSet found;
  for (const core::Iteration iteration : run.run->iterations(run.run->ranks().front()))
    if (const auto step = steps.at(iteration); step && list->contains(*step))
      found.push_back(iteration.value);
  if (found.empty()) return noSuchStep(run, "--steps", part, steps);
  return found.text();
}

}  // namespace

void addStepOption(CLI::App& app, std::optional<std::int64_t>& step) {
  app.add_option("--step", step, "instead of --iteration: the program's own number (msdbg.step)")
      ->type_name("N");
}

void addStepsOption(CLI::App& app, std::string& steps) {
  app.add_option("--steps", steps, "instead of --iterations: the program's own numbers (msdbg.step)")
      ->type_name("LIST");
}

Status takeStep(const OpenedRun& run, core::Rank rank, std::optional<std::int64_t> step,
                std::optional<std::int64_t>& iteration) {
  if (!step) return Ok{};
  MSDBG_ASSIGN(const replay::UserSteps steps, stepsOf(run, rank, "--step", iteration.has_value()));
  const std::optional<core::Iteration> found = steps.find(*step);
  if (!found) return noSuchStep(run, "--step", std::to_string(*step), steps);
  iteration = found->value;
  return Ok{};
}

Status takeSteps(const OpenedRun& run, const std::string& asked, std::string& iterations) {
  if (asked.empty()) return Ok{};
  if (run.run->ranks().empty())
    return Error(ErrorCode::kUnavailable, run.path + " holds nothing of any rank");
  MSDBG_ASSIGN(const replay::UserSteps steps,
               stepsOf(run, run.run->ranks().front(), "--steps", !iterations.empty()));
  std::vector<std::string> parts;
  for (const std::string& part : core::split(asked, ',')) {
    MSDBG_ASSIGN(parts.emplace_back(), iterationsOf(run, part, steps));
  }
  iterations = core::join(parts, ",");
  return Ok{};
}

void addStep(Json& json, const OpenedRun& run, core::Rank rank, core::Iteration iteration) {
  if (const auto step = replay::userStep(*run.run, rank, iteration)) json["step"] = *step;
}

}  // namespace msdbg::app
