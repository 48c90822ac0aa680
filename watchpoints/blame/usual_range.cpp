#include "watchpoints/blame/usual_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core_engine/base/text.h"

namespace msdbg::watch {

using core::Iteration;
using core::Rank;
using core::TensorId;
using core::TensorStatistics;

namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The last recorded ones before `iteration`.
std::vector<Iteration> iterationsBefore(const Source& source, Rank rank, Iteration iteration) {
  std::vector<Iteration> before = source.iterations(rank);
  std::erase_if(before, [&](Iteration i) { return !(i < iteration); });
  const auto most = static_cast<std::size_t>(kUsualIterations);
  if (before.size() > most) before.erase(before.begin(), before.end() - static_cast<std::ptrdiff_t>(most));
  return before;
}

/// How many times a is b; both not negative.
double times(double a, double b) {
  if (a == b) return 1;
  return b == 0 ? std::numeric_limits<double>::infinity() : a / b;
}

bool grew(const TensorStatistics& values, const UsualRange& usual) {
  return times(largestMagnitude(values), usual.largest) >= times(usual.meanAbs, values.meanAbs);
}

}  // namespace

std::optional<UsualRange> usualRange(Source& source, Rank rank, Iteration iteration, TensorId tensor) {
  std::vector<double> largest, meanAbs;
  for (const Iteration i : iterationsBefore(source, rank, iteration)) {
    const StatisticsRow* row = source.statistics(rank, i, tensor);
    if (!row || row->values.nonFinite() > 0) continue;
    largest.push_back(largestMagnitude(row->values));
    meanAbs.push_back(row->values.meanAbs);
  }
  if (largest.empty()) return std::nullopt;
  return UsualRange{median(largest), median(meanAbs), static_cast<std::int64_t>(largest.size())};
}

double largestMagnitude(const TensorStatistics& values) {
  const double largest = std::max(std::abs(values.min), std::abs(values.max));
  return std::isfinite(largest) ? largest : 0;
}

double unusualness(const TensorStatistics& values, const std::optional<UsualRange>& usual) {
  if (!usual) return std::max(1.0, largestMagnitude(values) / kLargeWithoutHistory * kUsualFactor);
  if (usual->largest == 0) return 1;  // gates and states that begin at zero
  const double up = times(largestMagnitude(values), usual->largest);
  const double down = times(usual->meanAbs, values.meanAbs);
  return std::max({1.0, up, down});
}

std::string unusualText(const TensorStatistics& values, const std::optional<UsualRange>& usual) {
  if (!usual) return "reaches " + core::formatShort(largestMagnitude(values));
  const std::string basis = " (median of " + std::to_string(usual->iterations) +
                            (usual->iterations == 1 ? " iteration before)" : " iterations before)");
  if (grew(values, *usual))
    return "reaches " + core::formatShort(largestMagnitude(values)) + ", usually " +
           core::formatShort(usual->largest) + basis;
  return "has a mean|x| of " + core::formatShort(values.meanAbs) + ", usually " +
         core::formatShort(usual->meanAbs) + basis;
}

}  // namespace msdbg::watch
