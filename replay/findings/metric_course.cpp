#include "replay/metric_course.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core_engine/base/text.h"
#include "replay/describe.h"

namespace msdbg::replay {
namespace {

bool speaksOf(const std::string& name, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; });
}

std::string extremeText(const char* which, const MetricCourse::Extreme& extreme) {
  if (!extreme) return "";
  return fmt::format(", {} {} in iteration {}", which, core::formatShort(extreme->second, 4),
                     extreme->first.value);
}

MetricCourse courseOf(core::Rank rank, Metric metric) {
  MetricCourse course{rank, std::move(metric), {}, {}, {}};
  for (const auto& value : course.metric.values) {
    if (!std::isfinite(value.second) && !course.firstNonFinite) course.firstNonFinite = value.first;
    if (!std::isfinite(value.second)) continue;
    if (!course.lowest || value.second < course.lowest->second) course.lowest = value;
    if (!course.highest || value.second > course.highest->second) course.highest = value;
  }
  return course;
}

/// Bit for bit: NaN is NaN.
bool isSame(const Metric& a, const Metric& b) {
  return a.name == b.name && std::ranges::equal(a.values, b.values, [](const auto& x, const auto& y) {
           return x.first == y.first &&
                  std::bit_cast<std::uint64_t>(x.second) == std::bit_cast<std::uint64_t>(y.second);
         });
}

}  // namespace

std::string MetricCourse::text() const {
  std::string text = fmt::format("{} {} -> {} in {}", metric.name, core::formatShort(first(), 4),
                                 core::formatShort(last(), 4),
                                 counted(static_cast<std::int64_t>(metric.values.size()), "value"));
  const bool lowIsGood = speaksOf(metric.name, {"loss", "err", "perplexity"});
  const bool highIsGood = !lowIsGood && speaksOf(metric.name, {"acc"});
  if (!highIsGood) text += extremeText("lowest", lowest);
  if (!lowIsGood) text += extremeText("highest", highest);
  if (firstNonFinite) text += fmt::format(", NaN or Inf first in iteration {}", firstNonFinite->value);
  return text;
}

std::vector<MetricCourse> metricCourses(const Run& run) {
  std::vector<MetricCourse> courses;
  for (const core::Rank rank : run.ranks())
    for (Metric& metric : run.metrics(rank))
      if (std::ranges::none_of(courses,
                               [&](const MetricCourse& told) { return isSame(told.metric, metric); }))
        courses.push_back(courseOf(rank, std::move(metric)));
  return courses;
}

}  // namespace msdbg::replay
