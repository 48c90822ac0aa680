// What is usual for a tensor: medians over the iterations before. Used from one thread.
#pragma once

#include <optional>
#include <string>

#include "watchpoints/source.h"

namespace msdbg::watch {

struct UsualRange {
  double largest = 0, meanAbs = 0;  // medians of max|x| and mean|x|
  std::int64_t iterations = 0;      // over how many
};

inline constexpr std::int64_t kUsualIterations = 50;  // looks back at most so far
inline constexpr double kUsualFactor = 1e3;           // further from the median is unusual
inline constexpr double kLargeWithoutHistory = 1e4;   // of the first iteration, which has no usual range

/// nullopt: no finite row of it is recorded before the iteration.
std::optional<UsualRange> usualRange(Source& source, core::Rank rank, core::Iteration iteration,
                                     core::TensorId tensor);

/// max|x| over the finite elements; 0 when there is none.
double largestMagnitude(const core::TensorStatistics& values);

/// How often larger (or smaller) than usual, always at least 1. Without a usual range: 1 up to
/// kLargeWithoutHistory.
double unusualness(const core::TensorStatistics& values, const std::optional<UsualRange>& usual);

/// "reaches 3e+12, usually 4.1 (median of 20 iterations)"
std::string unusualText(const core::TensorStatistics& values, const std::optional<UsualRange>& usual);

}  // namespace msdbg::watch
