// Sums of a row by a group of 16 threads, in the order of the CPU's loops (core_engine/cpu/tile_bodies.h and
// norm_bodies.h): element i belongs to lane i mod 16, lanes are folded 8, 4, 2, 1 apart. Every thread of the
// group gets the result.
#pragma once

#include "core_engine/device/kernels/kernel.h"

namespace msdbg::core::device {

MSDBG_DEVICE double foldGroup(double lane) {
  for (int bits = 8; bits > 0; bits /= 2) lane = lane + fromLaneXor(lane, bits);
  return lane;
}

/// lane += term(i) for i = this lane, 16 later, … below n. Eight terms at a time are on their way from memory
/// before they are added, one after another.
template <typename Term>
MSDBG_DEVICE double laneSum(std::int64_t n, const Term& term) {
  constexpr int kAtOnce = 8;
  double lane = 0, terms[kAtOnce];
  std::int64_t i = laneOfGroup();
  for (; i + (kAtOnce - 1) * kGroup < n; i += kAtOnce * kGroup) {
    MSDBG_UNROLL for (int k = 0; k < kAtOnce; ++k) terms[k] = term(i + k * kGroup);
    MSDBG_UNROLL for (int k = 0; k < kAtOnce; ++k) lane += terms[k];
  }
  for (; i < n; i += kGroup) lane += term(i);
  return lane;
}
/// The sum of term(i) for i in [0, n); what does not fill the lanes is added to them.
template <typename Term>
MSDBG_DEVICE double sumInLanes(std::int64_t n, const Term& term) {
  return foldGroup(laneSum(n, term));
}
/// The same, but what does not fill the lanes is summed by itself.
template <typename Term>
MSDBG_DEVICE double sumWithTail(std::int64_t n, const Term& term) {
  const std::int64_t whole = n / kGroup * kGroup;
  double tail = 0;
  for (std::int64_t i = whole; i < n; ++i) tail += term(i);
  return foldGroup(laneSum(whole, term)) + tail;
}

MSDBG_DEVICE float largestOfLanes(float lane) {
  float largest = fromLane(lane, 0);
  for (int l = 1; l < kGroup; ++l) {
    const float other = fromLane(lane, l);
    largest = other > largest ? other : largest;
  }
  return largest;
}
/// The largest of x, n >= 1, as largestBody() has it where there are NaN.
MSDBG_DEVICE float largestOf(const float* x, std::int64_t n) {
  float lane = x[0];
  for (std::int64_t i = laneOfGroup(); i < n; i += kGroup) lane = x[i] > lane ? x[i] : lane;
  return largestOfLanes(lane);
}

}  // namespace msdbg::core::device
