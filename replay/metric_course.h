// How the numbers went that a program gave now and then, of its rounds and evaluations: an overview of each.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/run.h"

namespace msdbg::replay {

struct MetricCourse {
  core::Rank rank;
  Metric metric;
  using Extreme = std::optional<std::pair<core::Iteration, double>>;
  Extreme lowest, highest;  // the first such one; nullopt: no value is finite
  std::optional<core::Iteration> firstNonFinite;

  double first() const { return metric.values.front().second; }
  double last() const { return metric.values.back().second; }
  /// "val_loss 0.31 -> 0.25 in 6 values, lowest 0.21 in iteration 391": the lowest of a loss or an error, the
  /// highest of an accuracy, both of any other; and since when one is NaN or Inf.
  std::string text() const;
};

/// By rank, then name. Where ranks say the same, the first of them.
std::vector<MetricCourse> metricCourses(const Run& run);

}  // namespace msdbg::replay
