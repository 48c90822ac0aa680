// Health: what the statistics of a tensor say at one glance, ordered from harmless to worst. Absent: the rank
// has no such node in the iteration.
#pragma once

#include <algorithm>

namespace msdbg::graphview {

enum class Health { kAbsent, kUnknown, kFinite, kAllZero, kInf, kNan };

inline Health worse(Health a, Health b) { return std::max(a, b); }

/// "not computed here", "finite", "all zero", "Inf", "NaN", "no statistics"
inline const char* healthName(Health health) {
  constexpr const char* kNames[] = {"not computed here", "no statistics", "finite", "all zero", "Inf", "NaN"};
  return kNames[static_cast<int>(health)];
}

}  // namespace msdbg::graphview
