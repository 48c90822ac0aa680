// Of statistics.h: the threads that bring a block from memory, and do what may be done in any order.
#pragma once

#include "core_engine/device/kernels/statistics_memory.h"

namespace msdbg::core::device {

// What kernels before have written.
#if defined(__CUDA_ARCH__)
MSDBG_DEVICE void readPair(const std::uint32_t* from, std::uint32_t (&own)[kOwn], int at) {
  const uint2 pair = __ldg(reinterpret_cast<const uint2*>(from));
  own[at] = pair.x;
  own[at + 1] = pair.y;
}
MSDBG_DEVICE std::uint32_t readOne(const std::uint32_t* from) { return __ldg(from); }
#else
MSDBG_DEVICE void readPair(const std::uint32_t* from, std::uint32_t (&own)[kOwn], int at) {
  std::memcpy(&own[at], from, 2 * sizeof *from);
}
MSDBG_DEVICE std::uint32_t readOne(const std::uint32_t* from) { return *from; }
#endif

/// Two elements of every other stripe of the segment that begins at `first`; NaN from `count` on.
MSDBG_DEVICE void bring(const std::uint32_t* from, int first, int count, std::uint32_t (&own)[kOwn]) {
  const int at = first + parityOfThread() * kGroup + 2 * pairOfThread();
  const bool inPairs = reinterpret_cast<std::uintptr_t>(from) % (2 * sizeof *from) == 0;
  if (inPairs && first + kSegment <= count) {
    MSDBG_UNROLL
    for (int k = 0; k < kOwn; k += 2) readPair(from + at + k * kGroup, own, k);
    return;
  }
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) {
    const int i = at + k / 2 * 2 * kGroup + k % 2;
    own[k] = i < count ? readOne(from + i) : kNaNBits;
  }
}

// Of numbers that are none NaN; which zero is left open. On a GPU one instruction.
#if defined(__CUDA_ARCH__)
MSDBG_DEVICE float lesser(float a, float b) { return fminf(a, b); }
MSDBG_DEVICE float greater(float a, float b) { return fmaxf(a, b); }
/// What was 0 stays so if v is finite, and becomes NaN if not.
MSDBG_DEVICE float zeroWhileFinite(float zero, float v) { return __fmaf_rn(v, 0.0f, zero); }
#else
MSDBG_DEVICE float lesser(float a, float b) { return b < a ? b : a; }
MSDBG_DEVICE float greater(float a, float b) { return b > a ? b : a; }
MSDBG_DEVICE float zeroWhileFinite(float zero, float v) { return zero + v * 0.0f; }
#endif

MSDBG_DEVICE Seen nothingSeen() { return {floatOf(kInfBits), -floatOf(kInfBits), 0.0, 0, 0, 0, 0}; }
MSDBG_DEVICE void addAny(std::uint32_t bits, Seen& seen) {
  const float v = floatOf(bits);
  if (isFinite(bits)) {
    seen.least = lesser(seen.least, v);
    seen.largest = greater(seen.largest, v);
    seen.zeroNegative += (v == 0.0f ? 1 : 0) + (v < 0.0f ? kHigh : 0);
  } else if (v != v) {
    seen.nanPosInf += 1;
  } else if (v > 0) {
    seen.nanPosInf += kHigh;
  } else {
    seen.negInfInRange += 1;
  }
}
/// Of finite numbers.
MSDBG_DEVICE void addZeros(const std::uint32_t (&own)[kOwn], Seen& seen) {
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) {
    if ((own[k] & kNoSign) == 0) seen.zeroNegative += own[k] == 0 ? 1 : 1 - kHigh;  // -0.0 is not negative
  }
}
/// Whether all are finite: a few instructions an element if they are, and none of them 0.
MSDBG_DEVICE bool addOrder(const std::uint32_t (&own)[kOwn], Seen& seen) {
  float zero = 0, least = seen.least, largest = seen.largest, leastAbs = floatOf(kInfBits);
  std::uint32_t signs = 0;
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) {
    const float v = floatOf(own[k]);
    zero = zeroWhileFinite(zero, v);
    least = lesser(least, v);
    largest = greater(largest, v);
    leastAbs = lesser(leastAbs, std::fabs(v));
    signs += own[k] >> 31;
  }
  const bool finite = zero == 0.0f;
  if (finite) {
    seen.least = least;
    seen.largest = largest;
    seen.zeroNegative += signs * kHigh;
    if (leastAbs == 0.0f) addZeros(own, seen);
    return true;
  }
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) addAny(own[k], seen);
  return false;
}
MSDBG_DEVICE void addInRange(const std::uint32_t (&own)[kOwn], float start, float end, Seen& seen) {
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) {
    const float v = floatOf(own[k]);
    if (v >= start && v <= end) seen.negInfInRange += kHigh;
  }
}
/// Of finite numbers.
MSDBG_DEVICE void addChange(std::uint32_t x, std::uint32_t previous, double rtol, double atol, Seen& seen) {
  const auto p = static_cast<double>(floatOf(previous));
  const double d = std::fabs(static_cast<double>(floatOf(x)) - p);
  if (d <= atol + rtol * std::fabs(p)) seen.insideSkipped += 1;
  seen.largestChange = d > seen.largestChange ? d : seen.largestChange;
}
MSDBG_DEVICE bool areFinite(const std::uint32_t (&own)[kOwn]) {
  float zero = 0;
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) zero = zeroWhileFinite(zero, floatOf(own[k]));
  return zero == 0.0f;
}

/// Of a matrix of bits, a row a lane, swaps the halves that lie `apart` rows and 2 `apart` columns apart;
/// `low`: the columns that stay in the first rows.
MSDBG_DEVICE std::uint32_t swapHalves(std::uint32_t bits, int apart, std::uint32_t low) {
  const std::uint32_t other = fromLaneXor(bits, apart), high = low << 2 * apart;
  return laneOfGroup() & apart ? (bits & high) | (other & high) >> 2 * apart
                               : (bits & low) | (other & low) << 2 * apart;
}
/// Pair k of bits of pair p of threads becomes pair p of thread k, of threads of one parity.
MSDBG_DEVICE std::uint32_t transposedPairs(std::uint32_t bits) {
  bits = swapHalves(bits, 4, 0x00ff);
  bits = swapHalves(bits, 2, 0x0f0f);
  return swapHalves(bits, 1, 0x3333);
}
/// `to`: of the segment.
MSDBG_DEVICE void writePositive(const std::uint32_t (&own)[kOwn], Bits* to) {
  std::uint32_t bits = 0;
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) bits |= (floatOf(own[k]) > 0.0f ? 1u : 0u) << k;
  const int stripe = 2 * pairOfThread() + parityOfThread();
  to[stripe / 4].groups[stripe % 4] = static_cast<std::uint16_t>(transposedPairs(bits));
}

template <typename Value>
MSDBG_DEVICE void putInTile(TileEight* segment, const Value& value) {
  MSDBG_UNROLL
  for (int eight = 0; eight < kEights; ++eight) {
    MSDBG_UNROLL
    for (int of = 0; of < 2; ++of) {  // the pair
      Quad quad;
      MSDBG_UNROLL
      for (int k = 0; k < 4; ++k) quad.values[k] = value(kEight * eight + 2 * k + of);
      segment[eight][parityOfThread()][kEight * of + pairOfThread()] = quad;
    }
  }
}

template <bool kChange>
struct Carrier {
  Seen seen;
  std::uint32_t own[kOwn], previous[kChange ? kOwn : 1];  // of the tile that comes next

  MSDBG_DEVICE void bringTile(const BlockPart& part, int tile) {
    const int first = tile * kTile + groupInBlock() * kSegment;
    if (first >= part.count) return;
    bring(part.x, first, part.count, own);
    if constexpr (kChange) bring(part.previous, first, part.count, previous);
  }
  /// What the tile is for those that wait for it.
  MSDBG_DEVICE void fill(const StatisticsParameters& p, const BlockPart& part, int tile,
                         BlockMemory<kChange>& memory) {
    const int group = groupInBlock(), half = tile % 2, segment = tile * kCarriers + group;
    if (segment >= part.segments()) return;
    const bool finite = addOrder(own, seen);
    if (part.inRange) addInRange(own, part.start, part.end, seen);
    if (part.countsUnits) writePositive(own, memory.positive + segment * (kSegment / 64));
    if (part.bytes() > kLongestShort) {
      const std::uint64_t sum = segmentSum(own, stripesOf(segment, part.bytes()), memory.secret);
      if (laneOfGroup() < kAccumulators) memory.segments[half][group][laneOfGroup()] = sum;
    }
    TileEight* ofGroup = memory.x[half] + group * kEights;
    if (finite)
      putInTile(ofGroup, [&](int k) { return floatOf(own[k]); });
    else
      putInTile(ofGroup, [&](int k) { return isFinite(own[k]) ? floatOf(own[k]) : 0.0f; });
    if constexpr (kChange) compare(p, finite, memory.previous[half] + group * kEights);
  }
  MSDBG_DEVICE void compare(const StatisticsParameters& p, bool finite, TileEight* ofGroup) {
    if (finite && areFinite(previous)) {
      MSDBG_UNROLL
      for (int k = 0; k < kOwn; ++k) addChange(own[k], previous[k], p.rtol, p.atol, seen);
      return putInTile(ofGroup, [&](int k) { return floatOf(previous[k]); });
    }
    MSDBG_UNROLL
    for (int k = 0; k < kOwn; ++k) {
      if (isFinite(own[k]) && isFinite(previous[k])) {
        addChange(own[k], previous[k], p.rtol, p.atol, seen);
      } else {
        seen.insideSkipped += kHigh;
        previous[k] = kNaNBits;
      }
    }
    putInTile(ofGroup, [&](int k) { return floatOf(previous[k]); });
  }
};

/// Adds up what the lanes of a group have seen; for all of them.
MSDBG_DEVICE void addSeen(Seen& seen, std::uint64_t ends, std::uint64_t first, std::uint64_t second) {
  seen.least = lesser(seen.least, floatOf(static_cast<std::uint32_t>(ends)));
  seen.largest = greater(seen.largest, floatOf(static_cast<std::uint32_t>(ends >> 32)));
  seen.zeroNegative += static_cast<std::uint32_t>(first);
  seen.nanPosInf += static_cast<std::uint32_t>(first >> 32);
  seen.negInfInRange += static_cast<std::uint32_t>(second);
  seen.insideSkipped += static_cast<std::uint32_t>(second >> 32);
}
MSDBG_DEVICE std::uint64_t both(std::uint32_t low, std::uint32_t high) {
  return low | static_cast<std::uint64_t>(high) << 32;
}
template <bool kChange>
MSDBG_DEVICE void foldSeen(Seen& seen) {
  for (int bits = 8; bits > 0; bits /= 2) {
    const std::uint64_t ends = fromLaneXor(both(bitsOf(seen.least), bitsOf(seen.largest)), bits),
                        first = fromLaneXor(both(seen.zeroNegative, seen.nanPosInf), bits),
                        second = fromLaneXor(both(seen.negInfInRange, seen.insideSkipped), bits);
    addSeen(seen, ends, first, second);
    if constexpr (kChange) {
      const double other = fromLaneXor(seen.largestChange, bits);
      seen.largestChange = other > seen.largestChange ? other : seen.largestChange;
    }
  }
}

}  // namespace msdbg::core::device
