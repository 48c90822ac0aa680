#include <algorithm>
#include <limits>

#include "core_engine/tensor/block_statistics.h"

namespace msdbg::core {

BlockMoments noMoments() {
  BlockMoments none;
  none.min = std::numeric_limits<double>::infinity();
  none.max = -none.min;
  return none;
}

void combine(BlockMoments& total, const BlockMoments& b) {
  const auto n = static_cast<double>(total.finite), m = static_cast<double>(b.finite);
  if (b.finite > 0) {
    const double delta = b.mean - total.mean;
    total.squaredDeviations += b.squaredDeviations + delta * delta * (n * m / (n + m));
    total.mean += delta * (m / (n + m));
  }
  total.finite += b.finite;
  total.nan += b.nan;
  total.posInf += b.posInf;
  total.negInf += b.negInf;
  total.zero += b.zero;
  total.negative += b.negative;
  total.min = std::min(total.min, b.min);
  total.max = std::max(total.max, b.max);
  total.sum += b.sum;
  total.sumAbs += b.sumAbs;
  total.sumSquares += b.sumSquares;
}

}  // namespace msdbg::core
