// What observeTensor() makes of the sums over all blocks, for those who form the sums themselves: a device.
// Pure; thread-safe.
#pragma once

#include "core_engine/tensor/statistics.h"

namespace msdbg::core {

/// A tensor seen as [outer, units, inner]: see ActivationStatistics.
struct TensorUnits {
  std::int64_t outer = 1, units = 1, inner = 1;
  std::int64_t elementsOfUnit() const { return outer * inner; }
};
TensorUnits unitsOf(const Shape& shape);

/// The float32 numbers in [start, end], which are doubles, are those in [firstFloatFrom(start),
/// lastFloatUpTo(end)].
float firstFloatFrom(double start);
inline float lastFloatUpTo(double end) { return -firstFloatFrom(-end); }

/// All but the hash. `count`: elements, finite or not.
TensorStatistics statisticsFrom(const BlockMoments& combined, std::int64_t count);
/// `total`: the sums of the blocks, in their order.
ChangeStatistics changeFrom(const BlockChange& total, std::int64_t count);
ActivationStatistics activationFrom(std::int64_t inRange, std::int64_t deadUnits, const TensorUnits& units,
                                    std::int64_t count);

}  // namespace msdbg::core
