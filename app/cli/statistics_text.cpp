#include "app/cli/statistics_text.h"

#include <fmt/format.h>

#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "core_engine/tensor/flags.h"

namespace msdbg::app {
namespace {

std::string shortNumber(double value) { return core::formatShort(value, 4); }

std::string zeroShare(const core::TensorStatistics& s) {
  return s.count ? fmt::format("{:.3g}", 100.0 * static_cast<double>(s.zero) / static_cast<double>(s.count))
                 : "";
}

}  // namespace

std::string statisticsBlock(const watch::StatisticsRow& row, int indent) {
  const core::TensorStatistics& s = row.values;
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  if (core::isFlags(s))
    return fmt::format("{}elements {}   nan {}   inf {}   (nothing else was to be recorded of it)\n", pad,
                       groupedNumber(s.count), groupedNumber(s.nan), groupedNumber(s.inf()));
  std::string text = fmt::format("{}elements {}   nan {}   inf {}   zero {} ({} %)   negative {}\n", pad,
                                 groupedNumber(s.count), groupedNumber(s.nan), groupedNumber(s.inf()),
                                 groupedNumber(s.zero), zeroShare(s), groupedNumber(s.negative));
  using core::formatShort;
  text += fmt::format("{}min {}   max {}   mean {}   mean|x| {}   std {}   L2 {}\n", pad, formatShort(s.min),
                      formatShort(s.max), formatShort(s.mean), formatShort(s.meanAbs), formatShort(s.std),
                      formatShort(s.l2));
  if (row.change)
    text += fmt::format("{}change: mean {}   max {}   of a mean of {}\n", pad,
                        formatShort(row.change->meanAbsChange), formatShort(row.change->maxAbsChange),
                        formatShort(row.change->meanAbsPrevious));
  if (row.activation)
    text += fmt::format("{}in range {} %   dead units {} %\n", pad,
                        formatShort(100 * row.activation->shareInRange, 3),
                        formatShort(100 * row.activation->shareDeadUnits, 3));
  return text;
}

std::vector<std::string> statisticsHeaders() {
  return {">nan", ">inf", ">zero %", ">min", ">max", ">mean", ">mean|x|", ">std"};
}

std::vector<std::string> statisticsCells(const watch::StatisticsRow* row) {
  if (!row) return {"not recorded"};
  const core::TensorStatistics& s = row->values;
  if (core::isFlags(s)) return {groupedNumber(s.nan), groupedNumber(s.inf()), "-", "-", "-", "-", "-", "-"};
  return {groupedNumber(s.nan), groupedNumber(s.inf()), zeroShare(s),           shortNumber(s.min),
          shortNumber(s.max),   shortNumber(s.mean),    shortNumber(s.meanAbs), shortNumber(s.std)};
}

}  // namespace msdbg::app
