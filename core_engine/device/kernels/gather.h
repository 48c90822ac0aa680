// Gather and its gradient. The gradient sums the slices of one index in the order of the indices, in double, as the
// reference does: places are sorted by index first, without atomics.
#pragma once

#include "core_engine/device/kernels/kernel.h"
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

template <typename T>
MSDBG_DEVICE void gatherAs(const GatherParameters& p) {
  const T* data = static_cast<const T*>(p.data);
  T* y = static_cast<T*>(p.y);
  for (std::int64_t at = globalThread(); at < p.outer * p.count * p.inner; at += allThreads()) {
    const std::int64_t j = at % p.inner, i = at / p.inner % p.count, outer = at / p.inner / p.count;
    const std::int64_t index = indexAt(p, i);
    y[at] = data[(outer * p.size + (index < 0 ? 0 : index)) * p.inner + j];
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
MSDBG_KERNEL(gather_check, GatherParameters) {
  if (globalThread() != 0) return;
  *p.alarm = 0;
  for (std::int64_t i = 0; i < p.count && *p.alarm == 0; ++i)
    if (indexAt(p, i) < 0) *p.alarm = i + 1;
}

/// Place i goes behind all of smaller index and those of its own before it: a thread a place.
MSDBG_KERNEL(gather_order, GatherGradParameters) {
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) {
    const std::int64_t own = indexAt(p, i);
    std::int64_t before = 0, wrong = 0;
    for (std::int64_t k = 0; k < p.count; ++k) {
      const std::int64_t other = indexAt(p, k);
      before += other < own || (other == own && k < i);
      if (other < 0 && wrong == 0) wrong = k + 1;
    }
    p.order[before] = i;
    p.sorted[before] = own;
    if (i == 0) *p.alarm = wrong;
  }
}
/// A thread an element of dX.
MSDBG_KERNEL(gather_grad, GatherGradParameters) {
  for (std::int64_t at = globalThread(); at < p.outer * p.size * p.inner; at += allThreads()) {
    const std::int64_t j = at % p.inner, index = at / p.inner % p.size, outer = at / p.inner / p.size;
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
