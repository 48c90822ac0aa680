#include "replay/user_steps.h"

#include <algorithm>
#include <cmath>

namespace msdbg::replay {
namespace {

constexpr const char* kScalar = "step";

std::string textOf(core::Iteration iteration, std::optional<std::int64_t> step) {
  return std::to_string(iteration.value) + (step ? " (step " + std::to_string(*step) + ")" : "");
}

}  // namespace

void UserSteps::set(core::Iteration iteration, std::int64_t step) {
  m_steps[iteration] = step;
  core::Iteration& last = m_iterations.emplace(step, iteration).first->second;
  last = std::max(last, iteration);
}

std::optional<std::int64_t> UserSteps::at(core::Iteration iteration) const {
  const auto found = m_steps.find(iteration);
  return found == m_steps.end() ? std::nullopt : std::optional(found->second);
}

std::optional<core::Iteration> UserSteps::find(std::int64_t step) const {
  const auto found = m_iterations.find(step);
  return found == m_iterations.end() ? std::nullopt : std::optional(found->second);
}

std::optional<core::Iteration> UserSteps::nearest(std::int64_t step) const {
  if (empty()) return std::nullopt;
  const auto above = m_iterations.lower_bound(step);
  if (above == m_iterations.end()) return m_iterations.rbegin()->second;
  if (above == m_iterations.begin()) return above->second;
  const auto below = std::prev(above);
  return above->first - step < step - below->first ? above->second : below->second;
}

std::string UserSteps::text(core::Iteration iteration) const { return textOf(iteration, at(iteration)); }

bool hasUserSteps(Run& run) {
  const std::vector<std::string> names = run.scalarNames();
  return std::ranges::find(names, kScalar) != names.end();
}

UserSteps userSteps(Run& run, core::Rank rank) {
  UserSteps steps;
  if (!hasUserSteps(run)) return steps;
  for (const core::Iteration iteration : run.iterations(rank))
    if (const auto step = userStep(run, rank, iteration)) steps.set(iteration, *step);
  return steps;
}

std::optional<std::int64_t> userStep(watch::Source& run, core::Rank rank, core::Iteration iteration) {
  const std::optional<double> step = run.scalar(rank, iteration, kScalar);
  if (!step || !std::isfinite(*step) || *step != std::floor(*step) || std::abs(*step) > 0x1p53)
    return std::nullopt;
  return static_cast<std::int64_t>(*step);
}

std::string iterationText(watch::Source& run, core::Rank rank, core::Iteration iteration) {
  return textOf(iteration, userStep(run, rank, iteration));
}

}  // namespace msdbg::replay
