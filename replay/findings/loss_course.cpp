#include "replay/loss_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <span>

#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::replay {

std::optional<double> LossCourse::guessing() const {
  return classes > 1 ? std::optional(std::log(static_cast<double>(classes))) : std::nullopt;
}

std::string LossCourse::text() const {
  std::string text = fmt::format("loss {} -> {} in {}", core::formatShort(firstMean, 4),
                                 core::formatShort(lastMean, 4), counted(iterations, "iteration"));
  if (window > 1) text += fmt::format(" (means of {} at each end)", window);
  if (since.valid()) text += fmt::format(", from iteration {} on", since.value);
  if (const std::optional<double> cost = guessing())
    text += fmt::format("; guessing one of {} classes costs {}", classes, core::formatShort(*cost, 4));
  return text;
}

namespace {

constexpr int kMost = 16;  // iterations that are asked; further in no loss is recorded at all

/// The iteration in progress when a program ended may have none: half of an accumulation.
std::optional<double> firstLoss(Run& run, core::Rank rank, const auto& iterations, const std::string& name) {
  int asked = 0;
  for (const core::Iteration iteration : iterations)
    if (const auto loss = run.scalar(rank, iteration, name); loss || ++asked == kMost) return loss;
  return std::nullopt;
}

/// Of the first that have one. Not finite where one is not.
std::optional<double> meanLoss(Run& run, core::Rank rank, const auto& iterations, const std::string& name,
                               std::int64_t window) {
  double sum = 0;
  std::int64_t count = 0, asked = 0;
  for (const core::Iteration iteration : iterations) {
    if (count == window || ++asked > window + kMost) break;
    if (const auto loss = run.scalar(rank, iteration, name)) sum += *loss, ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

/// One batch says little of a long training.
std::int64_t windowOf(std::int64_t iterations) {
  constexpr std::int64_t kShare = 20, kMostOfThem = 50;
  return std::clamp<std::int64_t>(iterations / kShare, 1, kMostOfThem);
}

/// The first of the losses that the iteration has; "": none.
std::string lossOf(Run& run, core::Rank rank, core::Iteration iteration) {
  constexpr int kLosses = 8;
  for (int i = 0; i < kLosses; ++i) {
    const std::string name = i == 0 ? "loss" : "loss/" + std::to_string(i);
    if (run.scalar(rank, iteration, name)) return name;
  }
  return {};
}

/// The loss that training ends with: the first one, or, where it went on with another, that.
std::string lastLossOf(Run& run, core::Rank rank, const std::vector<core::Iteration>& iterations) {
  for (const core::Iteration iteration : iterations | std::views::reverse | std::views::take(kMost))
    if (const std::string name = lossOf(run, rank, iteration); !name.empty()) return name;
  return "loss";
}

/// From the first iteration that has this loss on, all later ones having it.
std::span<const core::Iteration> withLoss(Run& run, core::Rank rank,
                                          const std::vector<core::Iteration>& iterations,
                                          const std::string& name) {
  if (name == "loss") return iterations;
  const auto begin = std::ranges::partition_point(
      iterations, [&](core::Iteration iteration) { return !run.scalar(rank, iteration, name); });
  return {begin, iterations.end()};
}

}  // namespace

std::optional<double> lossAt(Run& run, core::Rank rank, core::Iteration iteration) {
  const std::string name = lossOf(run, rank, iteration);
  return name.empty() ? std::nullopt : run.scalar(rank, iteration, name);
}

std::optional<double> lastLoss(Run& run, core::Rank rank) {
  return run.lastScalar(rank, lastLossOf(run, rank, run.iterations(rank)));
}

std::optional<LossCourse> lossCourseOf(Run& run) {
  LossCourse course;
  double firsts = 0, lasts = 0;
  for (const core::Rank rank : run.ranks()) {
    const std::vector<core::Iteration> all = run.iterations(rank);
    if (all.empty()) continue;
    const std::string name = lastLossOf(run, rank, all);
    const std::span<const core::Iteration> iterations = withLoss(run, rank, all, name);
    if (course.iterations == 0) {
      course.iterations = static_cast<std::int64_t>(iterations.size());
      course.window = windowOf(course.iterations);
      if (iterations.size() < all.size() && !iterations.empty()) course.since = iterations.front();
    }
    const auto fromEnd = std::views::reverse(iterations);
    if (const auto loss = firstLoss(run, rank, iterations, name)) {
      course.first += *loss, ++firsts;
      course.firstMean += meanLoss(run, rank, iterations, name, course.window).value_or(*loss);
    }
    if (const auto loss = firstLoss(run, rank, fromEnd, name)) {
      course.last += *loss, ++lasts;
      course.lastMean += meanLoss(run, rank, fromEnd, name, course.window).value_or(*loss);
    }
  }
  if (firsts == 0 || lasts == 0) return std::nullopt;
  course.first /= firsts, course.last /= lasts;
  course.firstMean /= firsts, course.lastMean /= lasts;
  const core::Graph& graph = run.graph();
  course.classes = watch::classesOfLoss(watch::hasForeignNodes(graph) ? watch::inOurTerms(graph) : graph);
  return course;
}

}  // namespace msdbg::replay
