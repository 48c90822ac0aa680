#include "replay/nearest_value.h"

#include <algorithm>
#include <cstdlib>

namespace msdbg::replay {

using core::Iteration;

std::optional<Iteration> nearestReadableValue(Run& run, core::Rank rank, Iteration iteration,
                                              core::TensorId tensor) {
  constexpr std::size_t kMostTries = 16;
  std::vector<Iteration> there;
  for (const Iteration each : run.iterations(rank))
    if (run.origin(rank, each, tensor)) there.push_back(each);
  std::ranges::stable_sort(there, {}, [&](Iteration each) { return std::abs(each.value - iteration.value); });
  for (std::size_t i = 0; i < std::min(kMostTries, there.size()); ++i)
    if (run.value(rank, there[i], tensor).ok()) return there[i];
  return std::nullopt;
}

}  // namespace msdbg::replay
