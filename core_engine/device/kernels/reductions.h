// ReduceSum, ReduceMean, ReduceSumSquare, GlobalAveragePool and gradients, in the order of
// core_engine/cpu/reduce.cpp: along contiguous runs in pieces of 8192 elements and 16 lanes, else element by
// element.
#pragma once

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/group_sums.h"

namespace msdbg::core::device {

constexpr std::int64_t kReductionPiece = 8192;

template <typename P>
MSDBG_DEVICE std::int64_t keptOffset(const P& p, std::int64_t result) {
  return offsetOf(result, p.keptRank, p.keptDims, p.keptStrides);
}
MSDBG_KERNEL(inner_pieces, InnerReductionParameters) {
  const std::int64_t all = p.results * p.offsets * p.piecesOfRun;
  for (std::int64_t at = globalGroup(); at < all; at += allGroups()) {
    const std::int64_t piece = at % p.piecesOfRun, offset = at / p.piecesOfRun % p.offsets,
                       result = at / p.piecesOfRun / p.offsets;
    const float* x = p.x + keptOffset(p, result) + p.offsetsAt[offset] + piece * kReductionPiece;
    const std::int64_t rest = p.runLength - piece * kReductionPiece,
                       count = rest < kReductionPiece ? rest : kReductionPiece;
    const bool squares = p.squares != 0;
    const double sum = sumInLanes(count, [=](std::int64_t i) {
      const double v = static_cast<double>(x[i]);
      return squares ? v * v : v;
    });
    if (laneOfGroup() == 0) p.pieces[at] = sum;
  }
}
MSDBG_KERNEL(inner_fold, InnerReductionParameters) {
  for (std::int64_t result = globalThread(); result < p.results; result += allThreads()) {
    const double* pieces = p.pieces + result * p.offsets * p.piecesOfRun;
    double sum = 0;
    for (std::int64_t i = 0; i < p.offsets * p.piecesOfRun; ++i) sum += pieces[i];
    p.y[result] = static_cast<float>(sum / p.divisor);
  }
}

MSDBG_KERNEL(outer_reduction, OuterReductionParameters) {
  for (std::int64_t result = globalThread(); result < p.results; result += allThreads()) {
    const float* x = p.x + keptOffset(p, result);
    double sum = 0;
    for (std::int64_t offset = 0; offset < p.offsets; ++offset) {
      const float* run = x + p.offsetsAt[offset];
      for (std::int64_t i = 0; i < p.runLength; ++i) sum += static_cast<double>(run[i * p.runStride]);
    }
    p.y[result] = static_cast<float>(sum / p.divisor);
  }
}

MSDBG_KERNEL(spread, SpreadParameters) {
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads())
    p.dx[i] = static_cast<float>(static_cast<double>(p.dy[offsetOf(i, p.rank, p.dims, p.strides)]) / p.divisor);
}

}  // namespace msdbg::core::device
