#include <algorithm>
#include <limits>

#include "core_engine/tensor/block_statistics.h"
#include "core_engine/tensor/combine_moments.h"

namespace msdbg::core {

BlockMoments noMoments() {
  BlockMoments none;
  none.min = std::numeric_limits<double>::infinity();
  none.max = -none.min;
  return none;
}

void combine(BlockMoments& total, const BlockMoments& b) {
  addMoments(total.mean, total.squaredDeviations, b.mean, b.squaredDeviations,
             momentWeights(total.finite, b.finite));
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
