// Statistics for people: as a block, or as cells of a table. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "watchpoints/source.h"

namespace msdbg::app {

/// Several aligned lines.
std::string statisticsBlock(const watch::StatisticsRow& row, int indent);

/// Headers and cells of the columns that every table of statistics has: nan, inf, zero %, min, max, mean,
/// mean|x|, std.
std::vector<std::string> statisticsHeaders();
std::vector<std::string> statisticsCells(const watch::StatisticsRow* row);  // nullptr: not recorded

}  // namespace msdbg::app
