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
  std::string text = fmt::format("loss {} -> {} in {}", core::formatShort(first, 4),
                                 core::formatShort(last, 4), counted(iterations, "iteration"));
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
      if (iterations.size() < all.size() && !iterations.empty()) course.since = iterations.front();
    }
    if (const auto loss = firstLoss(run, rank, iterations, name)) course.first += *loss, ++firsts;
    if (const auto loss = firstLoss(run, rank, std::views::reverse(iterations), name))
      course.last += *loss, ++lasts;
  }
  if (firsts == 0 || lasts == 0) return std::nullopt;
  course.first /= firsts, course.last /= lasts;
  const core::Graph& graph = run.graph();
  course.classes = watch::classesOfLoss(watch::hasForeignNodes(graph) ? watch::inOurTerms(graph) : graph);
  return course;
}

}  // namespace msdbg::replay
