#include "replay/loss_course.h"

#include <fmt/format.h>

#include <cmath>
#include <ranges>

#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::replay {

std::optional<double> LossCourse::guessing() const {
  return classes > 1 ? std::optional(std::log(static_cast<double>(classes))) : std::nullopt;
}

std::string LossCourse::text() const {
  std::string text = fmt::format("loss {} -> {} in {}", core::formatShort(first, 4),
                                 core::formatShort(last, 4), counted(iterations, "iteration"));
  if (const std::optional<double> cost = guessing())
    text += fmt::format("; guessing one of {} classes costs {}", classes, core::formatShort(*cost, 4));
  return text;
}

namespace {

/// The iteration in progress when a program ended may have none: half of an accumulation.
std::optional<double> firstLoss(Run& run, core::Rank rank, const auto& iterations) {
  constexpr int kMost = 16;  // further in no loss is recorded at all
  int asked = 0;
  for (const core::Iteration iteration : iterations)
    if (const auto loss = run.scalar(rank, iteration, "loss"); loss || ++asked == kMost) return loss;
  return std::nullopt;
}

}  // namespace

std::optional<LossCourse> lossCourseOf(Run& run) {
  LossCourse course;
  double firsts = 0, lasts = 0;
  for (const core::Rank rank : run.ranks()) {
    const std::vector<core::Iteration> iterations = run.iterations(rank);
    if (iterations.empty()) continue;
    if (course.iterations == 0) course.iterations = static_cast<std::int64_t>(iterations.size());
    if (const auto loss = firstLoss(run, rank, iterations)) course.first += *loss, ++firsts;
    if (const auto loss = firstLoss(run, rank, std::views::reverse(iterations)))
      course.last += *loss, ++lasts;
  }
  if (firsts == 0 || lasts == 0) return std::nullopt;
  course.first /= firsts, course.last /= lasts;
  course.classes = watch::classesOfLoss(run.graph());
  return course;
}

}  // namespace msdbg::replay
