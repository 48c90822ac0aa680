// Quantity: what a timeline can show: a scalar of the run, or a statistic of the selected tensor. Values;
// pure functions.
#pragma once

#include <QString>
#include <optional>
#include <span>
#include <vector>

#include "app/presenters/run_facts.h"

namespace msdbg::app {

/// A statistic of a tensor as a column of its series.
struct StatisticDef {
  const char* id;      // "mean_abs", as `msdbg stats --json` names it
  const char* title;   // "mean |x|"
  const char* absent;  // why a recorded row may lack it; nullptr: it never does
  std::optional<double> (*of)(const watch::StatisticsRow& row);
};
std::span<const StatisticDef> timelineStatistics();

struct Quantity {
  QString id;     // "scalar:loss", "statistic:mean_abs": stable, kept between sessions
  QString title;  // "loss", "mean |x|"
  bool ofTensor = false;
  std::string scalar;      // its name in the run; "" of a tensor
  std::size_t column = 0;  // of a tensor: in timelineStatistics()
};
/// The scalars of the run, the loss first, then all statistics.
std::vector<Quantity> quantitiesOf(const RunFacts& facts);

}  // namespace msdbg::app
