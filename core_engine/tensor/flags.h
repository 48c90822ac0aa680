// Flags: whether a tensor holds NaN or Inf, and how many, without the rest of its statistics. What is all
// finite costs one look at its exponents. Pure; thread-safe; uses the caller's OpenMP team.
#pragma once

#include "core_engine/tensor/statistics.h"

namespace msdbg::core {

/// count, nan, posInf and negInf as computeStatistics() has them; the other counts are -1, the numbers NaN,
/// and there is no hash.
TensorStatistics flagsOf(const Tensor& tensor, int threads = 1);
/// The same of what is known already.
TensorStatistics flagsFrom(const TensorStatistics& statistics);
/// Whether this is all that is known.
inline bool isFlags(const TensorStatistics& statistics) {
  return statistics.count >= 0 && statistics.zero < 0;
}

}  // namespace msdbg::core
