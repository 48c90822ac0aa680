// Statistics and hashes of blocks of 64 KiB, with the bits of core_engine/tensor (float_blocks.cpp,
// block_statistics.cpp, hash.cpp). A block is a thread block's. Carriers, 8 groups of 16 threads, bring tiles
// of 8 KiB from memory, one ahead, and do what may be done in any order: counts, ends, and each group the
// stripes of one segment of the hash (xxh3.h). Two warps then take from the tile what has an order, one lane
// for each lane of the CPU: the sums, and the sums of the change and the chain of the hash. The records of
// all blocks are then added up, in the order of the blocks, a tensor a thread block.
#pragma once

#include <cmath>
#include <cstring>

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/group_sums.h"
#include "core_engine/device/kernels/parameters.h"
#include "core_engine/device/kernels/xxh3.h"
#include "core_engine/tensor/combine_moments.h"

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

// --- carriers ---

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

// --- what has an order ---

struct Ordered {
  double first, second;       // sums of a lane
  std::uint64_t accumulator;  // of the hash
};

/// What the thread's lane has of eight stripes; in their order.
MSDBG_DEVICE void readEight(const TileEight* tile, int eight, float (&values)[kEight]) {
  const Quad even = tile[eight][0][laneOfGroup()], odd = tile[eight][1][laneOfGroup()];
  MSDBG_UNROLL
  for (int k = 0; k < 4; ++k) values[2 * k] = even.values[k], values[2 * k + 1] = odd.values[k];
}
/// Calls add() with the terms of eight stripes after another. While they are added, one after another, those
/// of the next are read and converted: each would else wait for its own.
template <typename Read, typename Convert, typename Add>
MSDBG_DEVICE void overEights(int segments, const Read& read, const Convert& convert, const Add& add) {
  const int last = segments * kEights - 1;
  auto values = read(0);
  auto ahead = convert(values);
  values = read(last < 1 ? last : 1);
  for (int i = 0; i <= last; ++i) {
    const auto terms = ahead;
    ahead = convert(values);
    values = read(i + 2 < last ? i + 2 : last);
    add(terms);
  }
}
struct Terms {
  double of[kEight];
};
struct Values {
  float of[kEight];
};
struct Compared {
  Values x, previous;
};

MSDBG_DEVICE void addSums(const TileEight* tile, int segments, Ordered& o) {
  const std::uint32_t mask = groupInBlock() == kSumAbsGroup ? kNoSign : ~0u;  // the two groups are one warp
  overEights(
      segments,
      [&](int eight) {
        Values v;
        readEight(tile, eight, v.of);
        return v;
      },
      [&](const Values& v) {
        Terms terms;
        MSDBG_UNROLL
        for (int k = 0; k < kEight; ++k) terms.of[k] = static_cast<double>(floatOf(bitsOf(v.of[k]) & mask));
        return terms;
      },
      [&](const Terms& terms) {
        MSDBG_UNROLL
        for (int k = 0; k < kEight; ++k) {
          o.first += terms.of[k];
          o.second += terms.of[k] * terms.of[k];
        }
      });
}
MSDBG_DEVICE void addChanges(const TileEight* tile, const TileEight* previous, int segments, Ordered& o) {
  const bool change = groupInBlock() == kChangeGroup;  // else |previous| = |0 - previous|
  overEights(
      segments,
      [&](int eight) {
        Compared c;
        readEight(tile, eight, c.x.of);
        readEight(previous, eight, c.previous.of);
        return c;
      },
      [&](const Compared& c) {
        Terms terms;
        MSDBG_UNROLL
        for (int k = 0; k < kEight; ++k) {
          const bool counts = c.previous.of[k] == c.previous.of[k];
          const float from = change && counts ? c.x.of[k] : 0.0f, p = counts ? c.previous.of[k] : 0.0f;
          terms.of[k] = std::fabs(static_cast<double>(from) - static_cast<double>(p));
        }
        return terms;
      },
      [&](const Terms& terms) {
        MSDBG_UNROLL
        for (int k = 0; k < kEight; ++k) o.first += terms.of[k];
      });
}
/// foldGroup() where a thread is a column.
MSDBG_DEVICE double foldColumns(double column) {
  for (int lanes = 8; lanes > 0; lanes /= 2) column += fromLaneXor(column, lanes > 1 ? lanes / 2 : kEight);
  return column;
}
template <bool kChange>
MSDBG_DEVICE void addToHash(const BlockMemory<kChange>& memory, const BlockPart& part, int tile, Ordered& o) {
  const int lane = laneOfGroup(), segments = part.segmentsOfTile(tile);
  for (int s = 0; s < segments; ++s) {
    o.accumulator += memory.segments[tile % 2][s][lane];
    if (tile * kCarriers + s < scrambledSegments(part.bytes()))
      o.accumulator = scrambled(o.accumulator, lane);
  }
}
template <bool kChange>
MSDBG_DEVICE void takeTile(const BlockMemory<kChange>& memory, const BlockPart& part, int tile, Ordered& o) {
  const int group = groupInBlock(), half = tile % 2, segments = part.segmentsOfTile(tile);
  if (group == kSumsGroup || group == kSumAbsGroup) addSums(memory.x[half], segments, o);
  if constexpr (kChange)
    if (group == kChangeGroup || group == kPreviousGroup)
      addChanges(memory.x[half], memory.previous[half], segments, o);
  if (group == kPreviousGroup && laneOfGroup() < kAccumulators && part.bytes() > kLongestShort)
    addToHash(memory, part, tile, o);
}

// Carriers fill one half with a tile while the others take what is in the other one. Each has its own loop,
// as what one of them holds in registers is none of the other's; at a barrier they meet.
template <typename Fill>
MSDBG_DEVICE void fillTiles(const BlockPart& part, const Fill& fill) {
  for (int tile = 0; tile < part.tiles(); ++tile) {
    fill(tile);
    blockBarrier();
  }
}
template <typename Take>
MSDBG_DEVICE void takeTiles(const BlockPart& part, const Take& take) {
  for (int tile = 0; tile < part.tiles(); ++tile) {
    blockBarrier();
    take(tile);
  }
}

// --- one block ---

template <bool kChange>
MSDBG_DEVICE void carry(const StatisticsParameters& p, const BlockPart& part, BlockMemory<kChange>& memory) {
  Carrier<kChange> carrier;
  carrier.seen = nothingSeen();
  carrier.bringTile(part, 0);
  if (threadInBlock() < kSecretBytes / 8) memory.secret[threadInBlock()] = kSecret[threadInBlock()];
  blockBarrier();
  fillTiles(part, [&](int tile) {
    carrier.fill(p, part, tile, memory);
    carrier.bringTile(part, tile + 1);
  });
  if (groupInBlock() >= part.segmentsOfTile(0)) return;
  foldSeen<kChange>(carrier.seen);
  if (laneOfGroup() == 0) memory.seen[groupInBlock()] = carrier.seen;
}
/// Puts where all see it what the group has found.
template <bool kChange>
MSDBG_DEVICE void showOrdered(const BlockPart& part, const Ordered& o, BlockMemory<kChange>& memory) {
  const int group = groupInBlock(), lane = laneOfGroup();
  if (group == kSumsGroup || group == kSumAbsGroup) {
    const double first = foldColumns(o.first), second = foldColumns(o.second);
    if (lane == 0) memory.sums[group == kSumsGroup ? kSum : kSumAbs] = first;
    if (lane == 0 && group == kSumsGroup) memory.sums[kSumSquares] = second;
  }
  if (group == kChangeGroup || group == kPreviousGroup) {
    const double first = kChange ? foldColumns(o.first) : 0.0;
    if (lane == 0) memory.sums[group == kChangeGroup ? kSumAbsChange : kSumAbsPrevious] = first;
  }
  if (group == kPreviousGroup && lane < kAccumulators && part.bytes() > kLongestShort)
    memory.accumulators[lane] = o.accumulator + lastStripe(part.x, part.bytes(), lane);
}
template <bool kChange>
MSDBG_DEVICE void takeInOrder(const BlockPart& part, BlockMemory<kChange>& memory) {
  Ordered ordered{0, 0, kFirstAccumulators[laneOfGroup() % kAccumulators]};
  blockBarrier();
  takeTiles(part, [&](int tile) { takeTile(memory, part, tile, ordered); });
  showOrdered(part, ordered, memory);
}

MSDBG_DEVICE std::int64_t lowHalf(std::uint32_t counts) { return counts % kHigh; }
MSDBG_DEVICE std::int64_t highHalf(std::uint32_t counts) { return counts / kHigh; }

template <bool kChange>
MSDBG_DEVICE void countsOf(const BlockPart& part, const Seen& all,
                           std::int64_t (&counts)[kStatisticsCounts]) {
  const std::int64_t padding = part.segments() * kSegment - part.count;  // was seen as NaN
  counts[kNaNs] = lowHalf(all.nanPosInf) - padding;
  counts[kPosInfs] = highHalf(all.nanPosInf);
  counts[kNegInfs] = lowHalf(all.negInfInRange);
  counts[kFinite] = part.count - counts[kNaNs] - counts[kPosInfs] - counts[kNegInfs];
  counts[kZeros] = lowHalf(all.zeroNegative);
  counts[kNegatives] = highHalf(all.zeroNegative);
  counts[kSkipped] = kChange ? highHalf(all.insideSkipped) - padding : 0;
  counts[kOutside] = kChange ? part.count - lowHalf(all.insideSkipped) : 0;
  counts[kInRange] = highHalf(all.negInfInRange);
}
/// The record, but for squaredDeviations where two passes are needed: momentsFrom() of float_blocks.cpp.
template <bool kChange>
MSDBG_DEVICE void writeRecord(const BlockPart& part, BlockMemory<kChange>& memory, StatisticsRecord& record) {
  Seen all = memory.seen[0];
  for (int g = 1; g < part.segmentsOfTile(0); ++g) {
    const Seen& s = memory.seen[g];
    addSeen(all, both(bitsOf(s.least), bitsOf(s.largest)), both(s.zeroNegative, s.nanPosInf),
            both(s.negInfInRange, s.insideSkipped));
    all.largestChange = s.largestChange > all.largestChange ? s.largestChange : all.largestChange;
  }
  countsOf<kChange>(part, all, record.counts);
  for (int i = 0; i < kStatisticsSums; ++i) record.sums[i] = memory.sums[i];
  record.most[kMinusLeast] = -static_cast<double>(all.least);
  record.most[kLargest] = static_cast<double>(all.largest);
  record.most[kLargestChange] = all.largestChange;
  const std::int64_t finite = record.counts[kFinite];
  const double squares = memory.sums[kSumSquares];
  memory.mean = finite > 0 ? memory.sums[kSum] / static_cast<double>(finite) : 0.0;
  record.mean = memory.mean;
  record.squaredDeviations = squares - memory.sums[kSum] * memory.mean;
  memory.twoPasses = finite < part.count || record.squaredDeviations * kLargestCancellation < squares;
}
template <bool kChange>
MSDBG_DEVICE void writeHash(const BlockPart& part, const BlockMemory<kChange>& memory, std::uint64_t* hash) {
  const Xxh128 found = part.bytes() > kLongestShort ? mergeAll(memory.accumulators, part.bytes())
                                                    : hashShort(part.x, part.bytes());
  hash[0] = found.low;
  hash[1] = found.high;
}

/// Of the elements that do not fill the lanes.
MSDBG_DEVICE double deviationsOfRest(const BlockPart& part, double mean) {
  double rest = 0;
  for (int i = part.count / kGroup * kGroup; i < part.count; ++i) {
    const double d = static_cast<double>(floatOf(part.x[i])) - mean;
    if (isFinite(part.x[i])) rest += d * d;
  }
  return rest;
}
/// Reads the block once more; deviationsOf() of float_blocks.cpp. Right in the group of the sums.
template <bool kChange>
MSDBG_DEVICE double deviations(const BlockPart& part, BlockMemory<kChange>& memory) {
  const int whole = part.count / kGroup * kGroup, group = groupInBlock();
  const double mean = memory.mean;
  double lane = 0;
  if (group < kCarriers) {
    fillTiles(part, [&](int tile) {
      std::uint32_t own[kOwn];
      bring(part.x, tile * kTile + group * kSegment, whole, own);
      putInTile(memory.x[tile % 2] + group * kEights,
                [&](int k) { return floatOf(isFinite(own[k]) ? own[k] : kNaNBits); });
    });
    return 0;
  }
  takeTiles(part, [&](int tile) {
    for (int eight = 0; group == kSumsGroup && eight < part.segmentsOfTile(tile) * kEights; ++eight) {
      float values[kEight];
      readEight(memory.x[tile % 2], eight, values);
      MSDBG_UNROLL
      for (int k = 0; k < kEight; ++k) {
        const double d = static_cast<double>(values[k]) - mean;
        lane += values[k] == values[k] ? d * d : 0.0;
      }
    }
  });
  return group == kSumsGroup ? foldColumns(lane) + deviationsOfRest(part, mean) : 0.0;
}

// --- units ---

constexpr int kUnitPiece = 128;  // elements of a run of a unit that are counted at once
constexpr int kUnitThreads = kCarriers * kGroup;

MSDBG_DEVICE std::uint32_t bitsSet(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popcll(word));
#else
  return static_cast<std::uint32_t>(__builtin_popcountll(word));
#endif
}
/// Of elements [from, to).
MSDBG_DEVICE std::uint32_t bitsSetIn(const Bits* words, int from, int to) {
  std::uint32_t sum = 0;
  while (from < to) {
    const int bit = from % 64, now = 64 - bit < to - from ? 64 - bit : to - from;
    sum += bitsSet(words[from / 64].word >> bit << (64 - now));
    from += now;
  }
  return sum;
}
/// Of several thread blocks at once: counts have no order.
MSDBG_DEVICE void addCount(std::int64_t& to, std::uint32_t count) {
  if (count == 0) return;
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(count));
#else
  to += count;
#endif
}

/// Runs of units that a block has a part of: run r is of unit (firstUnit + r) mod units.
struct BlockRuns {
  std::int64_t inner, units, firstUnit, before;  // before: elements of the first run before the block
  int count, runs, unitsHere, pieces;

  MSDBG_DEVICE BlockRuns(const StatisticsTensor& t, std::int64_t first, int elements)
      : inner(t.inner), units(t.units), count(elements) {
    const Divided run = divided(first, inner);
    firstUnit = divided(run.quotient, units).rest;
    before = run.rest;
    runs = static_cast<int>((before + count - 1) / inner) + 1;
    unitsHere = static_cast<int>(runs < units ? runs : units);
    pieces = static_cast<int>(((inner < count ? inner : count) + kUnitPiece - 1) / kUnitPiece);
  }
  MSDBG_DEVICE std::int64_t unit(int here) const {
    const std::int64_t unit = firstUnit + here;
    return unit < units ? unit : unit - units;
  }
  MSDBG_DEVICE std::uint32_t activeInPiece(const Bits* positive, std::int64_t run, int piece) const {
    const std::int64_t begin = run * inner - before, end = begin + inner;
    const int from = static_cast<int>(begin > 0 ? begin : 0) + piece * kUnitPiece,
              last = static_cast<int>(end < count ? end : count),
              to = from + kUnitPiece < last ? from + kUnitPiece : last;
    return bitsSetIn(positive, from, to);
  }
  /// Of one unit, by one of `slices` threads.
  MSDBG_DEVICE std::uint32_t active(const Bits* positive, int here, int slice, int slices) const {
    const auto rows = static_cast<int>((runs - 1 - here) / units) + 1;
    std::uint32_t sum = 0;
    for (int i = slice; i < rows * pieces; i += slices) {
      const int row = pieces > 1 ? i / pieces : i;
      sum += activeInPiece(positive, here + row * units, i - row * pieces);
    }
    return sum;
  }
};
/// By the carriers. Where units are few, threads share them, and addActive() adds up what they counted.
template <bool kChange>
MSDBG_DEVICE void countActive(const StatisticsTensor& t, const BlockRuns& runs,
                              BlockMemory<kChange>& memory) {
  const auto thread = static_cast<int>(threadInBlock());
  if (runs.unitsHere <= kUnitThreads) {
    const int slices = kUnitThreads / runs.unitsHere, slice = thread / runs.unitsHere;
    if (slice < slices)
      memory.active[thread] = runs.active(memory.positive, thread - slice * runs.unitsHere, slice, slices);
    return;
  }
  for (int here = thread; here < runs.unitsHere; here += kUnitThreads)
    addCount(t.active[runs.unit(here)], runs.active(memory.positive, here, 0, 1));
}
template <bool kChange>
MSDBG_DEVICE void addActive(const StatisticsTensor& t, const BlockRuns& runs,
                            const BlockMemory<kChange>& memory) {
  const auto thread = static_cast<int>(threadInBlock());
  if (runs.unitsHere > kUnitThreads || thread >= runs.unitsHere) return;
  std::uint32_t sum = 0;
  for (int at = thread; at < kUnitThreads / runs.unitsHere * runs.unitsHere; at += runs.unitsHere)
    sum += memory.active[at];
  addCount(t.active[runs.unit(thread)], sum);
}

// --- a block from its beginning to its end ---

template <bool kChange>
MSDBG_DEVICE void takeBlock(const StatisticsParameters& p, BlockMemory<kChange>& memory) {
  const std::int64_t at = p.firstBlock + block();
  const StatisticsTensor& tensor = p.tensors[p.tensorOfBlock[at]];
  const std::int64_t blockOfTensor = at - tensor.firstBlock, first = blockOfTensor * kStatisticsBlock,
                     left = tensor.count - first;
  const BlockPart part{tensor.x + first,
                       kChange ? tensor.previous + first : nullptr,
                       static_cast<int>(left < kStatisticsBlock ? left : kStatisticsBlock),
                       tensor.inRange,
                       tensor.active != nullptr,
                       tensor.start,
                       tensor.end};
  const bool carries = groupInBlock() < kCarriers;
  carries ? carry(p, part, memory) : takeInOrder(part, memory);
  blockBarrier();
  if (groupInBlock() == kSumsGroup && laneOfGroup() == 0) writeRecord(part, memory, p.records[at]);
  if (groupInBlock() == kChangeGroup && laneOfGroup() == 0)
    writeHash(part, memory, reinterpret_cast<std::uint64_t*>(tensor.answer + 1) + 2 * blockOfTensor);
  if (part.countsUnits && carries) countActive(tensor, BlockRuns(tensor, first, part.count), memory);
  blockBarrier();
  if (part.countsUnits && carries) addActive(tensor, BlockRuns(tensor, first, part.count), memory);
  if (!memory.twoPasses) return;
  const double squaredDeviations = deviations(part, memory);
  if (groupInBlock() == kSumsGroup && laneOfGroup() == 0) p.records[at].squaredDeviations = squaredDeviations;
}
#if defined(__CUDACC__)
// Many thread blocks at once on a multiprocessor: what a block does first and last, others have to hide.
extern "C" __global__ void __launch_bounds__(kStatisticsThreads, 5)
    msdbg_statistics(const __grid_constant__ StatisticsParameters p);
extern "C" __global__ void __launch_bounds__(kStatisticsThreads, 4)
    msdbg_statistics_change(const __grid_constant__ StatisticsParameters p);
#endif
/// A thread block a block, of tensors without a previous value, and of those with one.
MSDBG_KERNEL(statistics, StatisticsParameters) {
  MSDBG_SHARED BlockMemory<false> memory;
  takeBlock(p, memory);
}
MSDBG_KERNEL(statistics_change, StatisticsParameters) {
  MSDBG_SHARED BlockMemory<true> memory;
  takeBlock(p, memory);
}

// --- all blocks of a tensor ---

constexpr int kRound = 64;    // records that are added up while the next are prepared
constexpr int kAdders = 128;  // threads; those after them prepare
static_assert(kAdders + kRound == kTotalThreads && kRound % kGroup == 0);

struct TotalRound {
  double mean[kRound], squaredDeviations[kRound];
  MomentWeights weights[kRound];
  double sums[kRound][kStatisticsSums], most[kRound][kStatisticsMosts];
  std::int64_t counts[kRound][kStatisticsCounts];
};
struct TotalMemory {
  TotalRound rounds[2];
  std::int64_t dead[kTotalThreads / kGroup];
};

MSDBG_DEVICE std::int64_t foldCounts(std::int64_t lane) {
  for (int bits = 8; bits > 0; bits /= 2) lane += fromLaneXor(lane, bits);
  return lane;
}
/// The sum of the lanes before this one.
MSDBG_DEVICE std::int64_t sumOfLanesBefore(std::int64_t lane) {
  std::int64_t sum = lane;  // of this and of as many before it as `apart` says
  for (int apart = 1; apart < kGroup; apart *= 2) {
    const bool has = laneOfGroup() >= apart;
    const std::int64_t other = fromLane(sum, has ? laneOfGroup() - apart : 0);
    if (has) sum += other;
  }
  return sum - lane;
}

/// Brings the records of one round after another: a record a thread.
struct Preparer {
  const StatisticsRecord* records;
  std::int64_t count, finite;  // finite: elements in all rounds so far
  int group, at;               // of those that prepare; the record of the round

  MSDBG_DEVICE Preparer(const StatisticsRecord* all, std::int64_t blocks)
      : records(all),
        count(blocks),
        finite(0),
        group(groupInBlock() - kAdders / kGroup),
        at(static_cast<int>(threadInBlock()) - kAdders) {}

  /// Of the elements before this thread's record. Every group looks at all records.
  MSDBG_DEVICE std::int64_t finiteBefore(std::int64_t first) {
    std::int64_t before = 0;
    for (int g = 0; g < kRound / kGroup; ++g) {
      const std::int64_t i = first + g * kGroup + laneOfGroup(),
                         own = i < count ? records[i].counts[kFinite] : 0;
      if (g == group) before = finite + sumOfLanesBefore(own);
      finite += foldCounts(own);
    }
    return before;
  }
  /// What adds nothing after the last one.
  MSDBG_DEVICE void prepare(std::int64_t first, TotalRound& round) {
    StatisticsRecord record{};
    record.most[kMinusLeast] = record.most[kLargest] = -static_cast<double>(floatOf(kInfBits));
    if (first + at < count) record = records[first + at];
    round.mean[at] = record.mean;
    round.squaredDeviations[at] = record.squaredDeviations;
    round.weights[at] = momentWeights(finiteBefore(first), record.counts[kFinite]);
    for (int k = 0; k < kStatisticsSums; ++k) round.sums[at][k] = record.sums[k];
    for (int k = 0; k < kStatisticsMosts; ++k) round.most[at][k] = record.most[k];
    for (int k = 0; k < kStatisticsCounts; ++k) round.counts[at][k] = record.counts[k];
  }
};

/// What one thread adds up. Each warp adds other things, so that none waits for others.
struct Adder {
  enum class What { kMoments, kSums, kMosts, kCounts, kNothing } what;
  int index;
  double number, squaredDeviations;
  std::int64_t count;

  MSDBG_DEVICE explicit Adder(std::int64_t thread) : number(0), squaredDeviations(0), count(0) {
    constexpr int kWarp = 32, kFields[] = {1, kStatisticsSums, kStatisticsMosts, kStatisticsCounts};
    index = static_cast<int>(thread % kWarp);
    const auto warp = static_cast<int>(thread / kWarp);
    what = warp < 4 && index < kFields[warp] ? static_cast<What>(warp) : What::kNothing;
    if (what == What::kMosts && index != kLargestChange) number = -static_cast<double>(floatOf(kInfBits));
  }
  MSDBG_DEVICE void write(StatisticsRecord& total) const {
    if (what == What::kMoments) total.mean = number, total.squaredDeviations = squaredDeviations;
    if (what == What::kSums) total.sums[index] = number;
    if (what == What::kMosts) total.most[index] = number;
    if (what == What::kCounts) total.counts[index] = count;
  }
  /// The first `records` of a round; those that fill up eight add nothing.
  template <typename Add>
  MSDBG_DEVICE static void each(std::int64_t records, const Add& addOne) {
    for (int i = 0; i < kRound && i < records; i += 8) {
      MSDBG_UNROLL
      for (int k = 0; k < 8; ++k) addOne(i + k);
    }
  }
  MSDBG_DEVICE void addRound(const TotalRound& round, std::int64_t records) {
    if (what == What::kMoments)
      each(records, [&](int i) {
        addMoments(number, squaredDeviations, round.mean[i], round.squaredDeviations[i], round.weights[i]);
      });
    if (what == What::kSums) each(records, [&](int i) { number += round.sums[i][index]; });
    if (what == What::kMosts)
      each(records, [&](int i) { number = round.most[i][index] > number ? round.most[i][index] : number; });
    if (what == What::kCounts) each(records, [&](int i) { count += round.counts[i][index]; });
  }
};

/// The records of all blocks, in their order.
MSDBG_DEVICE void addUp(const StatisticsRecord* records, const StatisticsTensor& tensor,
                        TotalMemory& memory) {
  const std::int64_t rounds = (tensor.blocks + kRound - 1) / kRound, thread = threadInBlock();
  Adder adder(thread);
  Preparer preparer(records, tensor.blocks);
  for (std::int64_t r = 0; r <= rounds; ++r) {
    if (thread >= kAdders && r < rounds) preparer.prepare(r * kRound, memory.rounds[r % 2]);
    if (thread < kAdders && r > 0)
      adder.addRound(memory.rounds[(r - 1) % 2], tensor.blocks - (r - 1) * kRound);
    blockBarrier();
  }
  adder.write(tensor.answer->record);
}
MSDBG_DEVICE void countDead(const StatisticsTensor& tensor, TotalMemory& memory) {
  std::int64_t dead = 0;
  for (std::int64_t unit = threadInBlock(); unit < tensor.units; unit += threadsOfBlock())
    if (isDeadUnit(tensor.active[unit], tensor.elementsOfUnit)) ++dead;
  dead = foldCounts(dead);
  if (laneOfGroup() == 0) memory.dead[groupInBlock()] = dead;
  blockBarrier();
  if (threadInBlock() > 0) return;
  for (int group = 1; group < kTotalThreads / kGroup; ++group) dead += memory.dead[group];
  tensor.answer->deadUnits = dead;
}
/// A thread block a tensor.
MSDBG_KERNEL(statistics_totals, StatisticsTotalsParameters) {
  MSDBG_SHARED TotalMemory memory;
  const StatisticsTensor& tensor = p.tensors[block()];
  addUp(p.records + tensor.firstBlock, tensor, memory);
  if (tensor.active) countDead(tensor, memory);
}

}  // namespace msdbg::core::device
