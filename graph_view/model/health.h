// Health: what the statistics of a tensor say at one glance, ordered from harmless to worst.
#pragma once

#include <algorithm>

namespace msdbg::graphview {

enum class Health { kUnknown, kFinite, kAllZero, kInf, kNan };

inline Health worse(Health a, Health b) { return std::max(a, b); }

/// "finite", "all zero", "Inf", "NaN", "no statistics"
inline const char* healthName(Health health) {
  constexpr const char* kNames[] = {"no statistics", "finite", "all zero", "Inf", "NaN"};
  return kNames[static_cast<int>(health)];
}

}  // namespace msdbg::graphview
