// Of statistics.h: which threads of a block do what, and what they share.
#pragma once

#include <cmath>
#include <cstring>

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/group_sums.h"
#include "core_engine/device/kernels/parameters.h"
#include "core_engine/device/kernels/xxh3.h"

namespace msdbg::core::device {

// --- threads of a block, by groups of 16 ---
constexpr int kCarriers = 8;                           // groups 0 to 7
constexpr int kSumsGroup = 8, kSumAbsGroup = 9;        // one warp
constexpr int kChangeGroup = 10, kPreviousGroup = 11;  // one warp
static_assert(kStatisticsThreads == 12 * kGroup);
constexpr int kSegment = kSegmentBytes / 4;  // elements that a carrying group has of a tile
constexpr int kOwn = kSegment / kGroup;      // and each of its threads
constexpr int kTile = kCarriers * kSegment;  // elements
constexpr std::uint32_t kInfBits = 0x7f800000u, kNaNBits = 0x7fc00000u, kNoSign = 0x7fffffffu;
constexpr double kLargestCancellation = 64;  // float_blocks.cpp

MSDBG_DEVICE float floatOf(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
MSDBG_DEVICE std::uint32_t bitsOf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
MSDBG_DEVICE bool isFinite(std::uint32_t bits) { return (bits & kNoSign) < kInfBits; }
MSDBG_DEVICE int groupInBlock() { return static_cast<int>(threadInBlock() / kGroup); }

/// A segment is 16 stripes of 16 elements, one for each lane of the CPU. A carrying thread has two
/// neighbouring elements of every other stripe, as the hash wants them: a quad is of one lane and four of
/// those stripes. A column is a lane, even ones first, so that neither those who write nor those who read
/// meet in a bank.
struct alignas(16) Quad {
  float values[4];
};
constexpr int kEight = 8, kEights = kSegmentStripes / kEight;  // stripes that are read at once; of a segment
constexpr int kEightsOfTile = kCarriers * kEights;
using TileEight = Quad[2][kGroup];  // even and odd stripes; columns
MSDBG_DEVICE int pairOfThread() { return laneOfGroup() % kEight; }
MSDBG_DEVICE int parityOfThread() { return laneOfGroup() / kEight; }

/// What a carrier has seen, in any order. Counts are of at most a block, and lie in one word so that a
/// shuffle moves several.
struct Seen {
  float least, largest;
  double largestChange;
  std::uint32_t zeroNegative, nanPosInf, negInfInRange, insideSkipped;  // low and high half
};
constexpr std::uint32_t kHigh = 1u << 16;

/// Of 64 elements: which are > 0.
union Bits {
  std::uint64_t word;
  std::uint16_t groups[64 / kGroup];
};

/// Of one block; double-buffered: carriers fill one half while the others read the other one.
template <bool kChange>
struct BlockMemory {
  TileEight x[2][kEightsOfTile];                                     // 0 where an element is not finite
  TileEight previous[kChange ? 2 : 1][kChange ? kEightsOfTile : 1];  // NaN where it or x is not finite
  std::uint64_t secret[kSecretBytes / 8], segments[2][kCarriers][kAccumulators], accumulators[kAccumulators];
  Bits positive[kStatisticsBlock / 64];      // where units are counted
  std::uint32_t active[kCarriers * kGroup];  // of them, what each carrying thread counted
  Seen seen[kCarriers];
  double sums[kStatisticsSums];
  double mean;
  std::int32_t twoPasses;
};

struct BlockPart {
  const std::uint32_t *x, *previous;
  int count;  // elements of the block
  bool inRange, countsUnits;
  float start, end;
  MSDBG_DEVICE int bytes() const { return count * 4; }
  MSDBG_DEVICE int tiles() const { return (count + kTile - 1) / kTile; }
  MSDBG_DEVICE int segments() const { return (count + kSegment - 1) / kSegment; }
  MSDBG_DEVICE int segmentsOfTile(int tile) const {
    const int left = segments() - tile * kCarriers;
    return left < kCarriers ? left : kCarriers;
  }
};

}  // namespace msdbg::core::device
