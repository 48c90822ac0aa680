// What CPU and GPUs compute alike of the numbers of several blocks: how the moments of two parts become those
// of both (Chan, Golub and LeVeque 1979, "Updating formulae … for computing sample variances"; combine() of
// block_statistics.h), and which unit is dead (ActivationStatistics).
#pragma once

#include <cstdint>

#include "core_engine/base/inline.h"

namespace msdbg::core {

/// What part b of `added` finite elements weighs beside the `before` that there were. All zero: it has none.
struct MomentWeights {
  double share, factor;
};
MSDBG_INLINE MomentWeights momentWeights(std::int64_t before, std::int64_t added) {
  if (added <= 0) return {0, 0};
  const auto n = static_cast<double>(before), m = static_cast<double>(added);
  return {m / (n + m), n * m / (n + m)};
}

/// Mean and sum of squared deviations, and those of part b.
MSDBG_INLINE void addMoments(double& mean, double& squaredDeviations, double meanOfB, double deviationsOfB,
                             const MomentWeights& b) {
  if (!(b.share > 0)) return;
  const double delta = meanOfB - mean;
  squaredDeviations += deviationsOfB + delta * delta * b.factor;
  mean += delta * b.share;
}

/// A unit of so many elements, of which so many are > 0.
MSDBG_INLINE bool isDeadUnit(std::int64_t active, std::int64_t elements) { return active * 100 < elements; }

}  // namespace msdbg::core
