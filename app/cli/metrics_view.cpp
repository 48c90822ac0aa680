#include "app/cli/metrics_view.h"

#include <fmt/format.h>

#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "replay/metric_course.h"

namespace msdbg::app {
namespace {

std::string extremeText(const replay::MetricCourse::Extreme& extreme) {
  if (!extreme) return "";
  return fmt::format("{} ({})", core::formatShort(extreme->second, 5), extreme->first.value);
}

}  // namespace

Json metricsJson(const replay::Run& run) {
  Json list = Json::array();
  for (const replay::MetricCourse& course : replay::metricCourses(run)) {
    Json values = Json::array();
    for (const auto& [iteration, value] : course.metric.values)
      values.push_back({{"iteration", iteration.value}, {"value", number(value)}});
    list.push_back(
        {{"name", course.metric.name}, {"rank", course.rank.value}, {"values", std::move(values)}});
  }
  return list;
}

std::string metricsText(const replay::Run& run) {
  const std::vector<replay::MetricCourse> courses = replay::metricCourses(run);
  if (courses.empty()) return "";
  Table table({"metric", ">rank", ">values", ">first", ">last", ">lowest (iteration)", ">highest (iteration)",
               "NaN or Inf"});
  for (const replay::MetricCourse& course : courses)
    table.row({core::printable(course.metric.name), std::to_string(course.rank.value),
               groupedNumber(static_cast<std::int64_t>(course.metric.values.size())),
               core::formatShort(course.first(), 5), core::formatShort(course.last(), 5),
               extremeText(course.lowest), extremeText(course.highest),
               course.firstNonFinite ? fmt::format("from iteration {}", course.firstNonFinite->value) : ""});
  return table.text();
}

}  // namespace msdbg::app
