// ReduceSum, ReduceMean, ReduceSumSquare, GlobalAveragePool and gradients, in the order of
// core_engine/cpu/reduce.cpp: along contiguous runs in pieces of 8192 elements and 16 lanes, else element by
// element.
#pragma once

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/group_sums.h"

namespace msdbg::core::device {

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

/// Rows of a reduction along columns, one after another.
MSDBG_DEVICE const float* rowOf(const OuterReductionParameters& p, std::int64_t row) {
  const Divided at = divided(row, p.runLength);
  return p.x + p.offsetsAt[at.quotient] + at.rest * p.runStride;
}

constexpr int kTileRows = 64;

/// 32 columns a block: 256 threads bring 64 rows at a time, the next on their way while 32 of them add up.
MSDBG_KERNEL(column_sums, OuterReductionParameters) {
  constexpr int kEach = kTileRows * kTileColumns / kTileThreads, kStep = kTileThreads / kTileColumns;
  MSDBG_SHARED double tile[kTileRows][kTileColumns];
  const std::int64_t rows = p.offsets * p.runLength, chunks = (p.width + kTileColumns - 1) / kTileColumns;
  const int column = static_cast<int>(threadInBlock() % kTileColumns),
            first = static_cast<int>(threadInBlock() / kTileColumns);
  for (std::int64_t chunk = block(); chunk < p.results / p.width * chunks; chunk += blocks()) {
    const std::int64_t at = chunk % chunks * kTileColumns + column, result = chunk / chunks * p.width + at;
    const bool isThere = at < p.width;
    const std::int64_t from = isThere ? keptOffset(p, result) : 0;
    float next[kEach];
    const auto bring = [&](std::int64_t top) {
      MSDBG_UNROLL for (int k = 0; k < kEach; ++k) {
        const std::int64_t row = top + first + k * kStep;
        next[k] = isThere && row < rows ? rowOf(p, row)[from] : 0.0f;
      }
    };
    double sum = 0;
    bring(0);
    for (std::int64_t top = 0; top < rows; top += kTileRows) {
      blockBarrier();
      MSDBG_UNROLL for (int k = 0; k < kEach; ++k) tile[first + k * kStep][column] =
          static_cast<double>(next[k]);
      blockBarrier();
      if (top + kTileRows < rows) bring(top + kTileRows);
      if (first != 0) continue;
      if (rows - top >= kTileRows) {
        MSDBG_UNROLL for (int r = 0; r < kTileRows; ++r) sum += tile[r][column];
        continue;
      }
      for (int r = 0; r < static_cast<int>(rows - top); ++r) sum += tile[r][column];
    }
    if (first == 0 && isThere) p.y[result] = static_cast<float>(sum / p.divisor);
  }
}
/// A result a thread: where rows are narrow.
MSDBG_KERNEL(outer_reduction, OuterReductionParameters) {
  for (std::int64_t result = globalThread(); result < p.results; result += allThreads()) {
    const std::int64_t from = keptOffset(p, result);
    double sum = 0;
    for (std::int64_t row = 0; row < p.offsets * p.runLength; ++row)
      sum += static_cast<double>(rowOf(p, row)[from]);
    p.y[result] = static_cast<float>(sum / p.divisor);
  }
}

MSDBG_KERNEL(spread, SpreadParameters) {
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads())
    p.dx[i] =
        static_cast<float>(static_cast<double>(p.dy[offsetOf(i, p.rank, p.dims, p.strides)]) / p.divisor);
}

}  // namespace msdbg::core::device
