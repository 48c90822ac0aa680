// Gather and its gradient. The gradient sums the slices of one index in the order of the indices, in double,
// as the reference does: places are sorted by index first, without atomics.
#pragma once

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

/// Index `i`, from 0 on; -1: it is none of the axis.
template <typename P>
MSDBG_DEVICE std::int64_t indexAt(const P& p, std::int64_t i) {
  const std::int64_t given = p.wideIndices ? static_cast<const std::int64_t*>(p.indices)[i]
                                           : static_cast<const std::int32_t*>(p.indices)[i];
  const std::int64_t index = given < 0 ? given + p.size : given;
  return index >= 0 && index < p.size ? index : -1;
}

/// The same; one that is none raises the alarm, and counts as 0.
template <typename P>
MSDBG_DEVICE std::int64_t knownIndex(const P& p, std::int64_t i) {
  const std::int64_t index = indexAt(p, i);
  if (index < 0) *p.alarm = i + 1;  // whichever is last: the host looks for the first
  return index < 0 ? 0 : index;
}

template <typename T>
MSDBG_DEVICE void gatherAs(const GatherParameters& p) {
  const T* data = static_cast<const T*>(p.data);
  T* y = static_cast<T*>(p.y);
  for (std::int64_t at = globalThread(); at < p.outer * p.count * p.inner; at += allThreads()) {
    const Divided row = divided(at, p.inner), place = divided(row.quotient, p.count);
    const std::int64_t j = row.rest, i = place.rest, outer = place.quotient;
    y[at] = data[(outer * p.size + knownIndex(p, i)) * p.inner + j];
  }
}
MSDBG_KERNEL(gather, GatherParameters) {
  switch (p.elementBytes) {
    case 1:
      return gatherAs<std::uint8_t>(p);
    case 2:
      return gatherAs<std::uint16_t>(p);
    case 4:
      return gatherAs<std::uint32_t>(p);
    default:
      return gatherAs<std::uint64_t>(p);
  }
}
/// Place i goes behind all of smaller index and those of its own before it: a thread a place; a block looks
/// at 256 indices at a time.
MSDBG_KERNEL(gather_order, GatherGradParameters) {
  constexpr int kChunk = 256;
  MSDBG_SHARED std::int64_t others[kChunk];
  for (std::int64_t base = block() * threadsOfBlock(); base < p.count; base += allThreads()) {
    const std::int64_t i = base + threadInBlock(), own = i < p.count ? knownIndex(p, i) : 0;
    std::int64_t before = 0;
    for (std::int64_t top = 0; top < p.count; top += kChunk) {
      blockBarrier();
      if (top + threadInBlock() < p.count) others[threadInBlock()] = knownIndex(p, top + threadInBlock());
      blockBarrier();
      const int count = static_cast<int>(p.count - top < kChunk ? p.count - top : kChunk);
      for (int k = 0; k < count; ++k) before += others[k] < own || (others[k] == own && top + k < i);
    }
    if (i >= p.count) continue;
    p.order[before] = i;
    p.sorted[before] = own;
  }
}
/// A thread an element of dX.
MSDBG_KERNEL(gather_grad, GatherGradParameters) {
  for (std::int64_t at = globalThread(); at < p.outer * p.size * p.inner; at += allThreads()) {
    const Divided row = divided(at, p.inner), place = divided(row.quotient, p.size);
    const std::int64_t j = row.rest, index = place.rest, outer = place.quotient;
    std::int64_t first = 0;
    for (std::int64_t last = p.count; first < last;) {  // the first place that is not below the index
      const std::int64_t middle = (first + last) / 2;
      if (p.sorted[middle] < index)
        first = middle + 1;
      else
        last = middle;
    }
    double sum = 0;
    for (; first < p.count && p.sorted[first] == index; ++first)
      sum += static_cast<double>(p.dy[(outer * p.count + p.order[first]) * p.inner + j]);
    p.dx[at] = static_cast<float>(sum);
  }
}

}  // namespace msdbg::core::device
