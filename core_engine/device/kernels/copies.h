// Transpose, Concat, Split and Cast: an element a thread.
#pragma once

#include "core_engine/device/kernels/elementwise.h"

namespace msdbg::core::device {

template <typename T>
MSDBG_DEVICE void transposeAs(const TransposeParameters& p) {
  const T* x = static_cast<const T*>(p.x);
  T* y = static_cast<T*>(p.y);
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads())
    y[i] = x[offsetOf(i, p.rank, p.dims, p.strides)];
}
MSDBG_KERNEL(transpose, TransposeParameters) {
  switch (p.elementBytes) {
    case 1:
      return transposeAs<std::uint8_t>(p);
    case 2:
      return transposeAs<std::uint16_t>(p);
    case 4:
      return transposeAs<std::uint32_t>(p);
    default:
      return transposeAs<std::uint64_t>(p);
  }
}

/// Tiles of 32 by 32 through shared memory, so that both sides are read and written along: 256 threads, 8
/// rows each.
MSDBG_KERNEL(transpose_tiles, TransposeTilesParameters) {
  MSDBG_SHARED std::uint32_t tile[kTransposeTile][kTransposeTile + 1];  // one more: other banks
  const std::uint32_t* x = static_cast<const std::uint32_t*>(p.x);
  std::uint32_t* y = static_cast<std::uint32_t*>(p.y);
  const std::int64_t down = (p.rows + kTransposeTile - 1) / kTransposeTile,
                     across = (p.columns + kTransposeTile - 1) / kTransposeTile;
  const int lane = static_cast<int>(threadInBlock() % kTransposeTile),
            first = static_cast<int>(threadInBlock() / kTransposeTile),
            step = static_cast<int>(threadsOfBlock()) / kTransposeTile;
  for (std::int64_t i = block(); i < p.outer * down * across; i += blocks()) {
    const Divided at = divided(i, down * across), place = divided(at.rest, across);
    const std::int64_t row = place.quotient * kTransposeTile, column = place.rest * kTransposeTile,
                       from = offsetOf(at.quotient, p.rank, p.dims, p.from),
                       to = offsetOf(at.quotient, p.rank, p.dims, p.to);
    blockBarrier();
    for (int k = first; k < kTransposeTile; k += step)
      if (row + lane < p.rows && column + k < p.columns)
        tile[k][lane] = x[from + (column + k) * p.columnFrom + row + lane];
    blockBarrier();
    for (int k = first; k < kTransposeTile; k += step)
      if (row + k < p.rows && column + lane < p.columns)
        y[to + (row + k) * p.rowTo + column + lane] = tile[lane][k];
  }
}

template <typename T>
MSDBG_DEVICE void copyPartAs(const PartCopyParameters& p) {
  const T* from = static_cast<const T*>(p.from);
  T* to = static_cast<T*>(p.to);
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) {
    const Divided at = divided(i, p.width);
    const std::int64_t there = at.quotient * p.row + p.offset + at.rest;
    to[p.toWhole ? there : i] = from[p.toWhole ? i : there];
  }
}
MSDBG_KERNEL(part_copy, PartCopyParameters) {
  switch (p.elementBytes) {
    case 1:
      return copyPartAs<std::uint8_t>(p);
    case 2:
      return copyPartAs<std::uint16_t>(p);
    case 4:
      return copyPartAs<std::uint32_t>(p);
    default:
      return copyPartAs<std::uint64_t>(p);
  }
}

template <typename To, typename From>
MSDBG_DEVICE void convert(const CastParameters& p) {
  const From* x = static_cast<const From*>(p.x);
  To* y = static_cast<To*>(p.y);
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) y[i] = static_cast<To>(x[i]);
}
MSDBG_KERNEL(cast, CastParameters) {
  switch (p.conversion) {
    case Conversion::kDoubleToFloat:
      return convert<float, double>(p);
    case Conversion::kFloatToDouble:
      return convert<double, float>(p);
    case Conversion::kByteToFloat:
      return convert<float, std::uint8_t>(p);
    case Conversion::kInt64ToFloat:
      return convert<float, std::int64_t>(p);
  }
}

}  // namespace msdbg::core::device
