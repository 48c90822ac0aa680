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
constexpr int kQuads = kOwn / 4;
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

/// What one lane adds one after another lies together: elements 16 apart.
struct alignas(16) Quad {
  float values[4];
};
using TileSegment = Quad[kQuads][kGroup];

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
  TileSegment x[2][kCarriers];                                     // 0 where an element is not finite
  TileSegment previous[kChange ? 2 : 1][kChange ? kCarriers : 1];  // NaN where it or x is not finite
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
  double start, end;
  MSDBG_DEVICE int bytes() const { return count * 4; }
  MSDBG_DEVICE int tiles() const { return (count + kTile - 1) / kTile; }
  MSDBG_DEVICE int segments() const { return (count + kSegment - 1) / kSegment; }
  MSDBG_DEVICE int segmentsOfTile(int tile) const {
    const int left = segments() - tile * kCarriers;
    return left < kCarriers ? left : kCarriers;
  }
};

// --- carriers ---

/// Elements first + lane, first + 16 + lane, …; NaN from `count` on.
MSDBG_DEVICE void bring(const std::uint32_t* from, int first, int count, std::uint32_t (&own)[kOwn]) {
  const int at = first + laneOfGroup();
  if (first + kSegment <= count) {
    MSDBG_UNROLL
    for (int k = 0; k < kOwn; ++k) own[k] = from[at + k * kGroup];
    return;
  }
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) own[k] = at + k * kGroup < count ? from[at + k * kGroup] : kNaNBits;
}

// Of numbers that are none NaN; which zero is left open. On a GPU one instruction.
#if defined(__CUDA_ARCH__)
MSDBG_DEVICE float lesser(float a, float b) { return fminf(a, b); }
MSDBG_DEVICE float greater(float a, float b) { return fmaxf(a, b); }
#else
MSDBG_DEVICE float lesser(float a, float b) { return b < a ? b : a; }
MSDBG_DEVICE float greater(float a, float b) { return b > a ? b : a; }
#endif

MSDBG_DEVICE Seen nothingSeen() { return {floatOf(kInfBits), -floatOf(kInfBits), 0.0, 0, 0, 0, 0}; }
MSDBG_DEVICE void addFinite(float v, Seen& seen) {
  seen.least = lesser(seen.least, v);
  seen.largest = greater(seen.largest, v);
  if (v == 0.0f) seen.zeroNegative += 1;
  if (v < 0.0f) seen.zeroNegative += kHigh;
}
MSDBG_DEVICE void addAny(std::uint32_t bits, Seen& seen) {
  if (isFinite(bits)) return addFinite(floatOf(bits), seen);
  if ((bits & kNoSign) > kInfBits)
    seen.nanPosInf += 1;
  else if (bits == kInfBits)
    seen.nanPosInf += kHigh;
  else
    seen.negInfInRange += 1;
}
MSDBG_DEVICE void addOrder(const std::uint32_t (&own)[kOwn], Seen& seen) {
  std::uint32_t largest = 0;
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) largest = (own[k] & kNoSign) > largest ? own[k] & kNoSign : largest;
  if (largest < kInfBits) {
    MSDBG_UNROLL
    for (int k = 0; k < kOwn; ++k) addFinite(floatOf(own[k]), seen);
    return;
  }
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) addAny(own[k], seen);
}
MSDBG_DEVICE void addInRange(const std::uint32_t (&own)[kOwn], double start, double end, Seen& seen) {
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) {
    const auto v = static_cast<double>(floatOf(own[k]));
    if (v >= start && v <= end) seen.negInfInRange += kHigh;
  }
}
/// One element; returns what the sums take of the previous value.
MSDBG_DEVICE float addChange(std::uint32_t x, std::uint32_t previous, double rtol, double atol, Seen& seen) {
  if (!isFinite(x) || !isFinite(previous)) {
    seen.insideSkipped += kHigh;
    return floatOf(kNaNBits);
  }
  const auto p = static_cast<double>(floatOf(previous));
  const double d = std::fabs(static_cast<double>(floatOf(x)) - p);
  if (d <= atol + rtol * std::fabs(p)) seen.insideSkipped += 1;
  seen.largestChange = d > seen.largestChange ? d : seen.largestChange;
  return floatOf(previous);
}

/// Of a matrix of bits, a row a lane, swaps the halves that lie `apart` rows and columns apart; `low`: the
/// columns that stay in the first rows.
MSDBG_DEVICE std::uint32_t swapHalves(std::uint32_t bits, int apart, std::uint32_t low) {
  const std::uint32_t other = fromLaneXor(bits, apart), high = low << apart;
  return laneOfGroup() & apart ? (bits & high) | (other & high) >> apart
                               : (bits & low) | (other & low) << apart;
}
/// Bit k of lane l becomes bit l of lane k.
MSDBG_DEVICE std::uint32_t transposed(std::uint32_t bits) {
  bits = swapHalves(bits, 8, 0x00ff);
  bits = swapHalves(bits, 4, 0x0f0f);
  bits = swapHalves(bits, 2, 0x3333);
  return swapHalves(bits, 1, 0x5555);
}
/// `to`: of the segment.
MSDBG_DEVICE void writePositive(const std::uint32_t (&own)[kOwn], Bits* to) {
  std::uint32_t bits = 0;
  MSDBG_UNROLL
  for (int k = 0; k < kOwn; ++k) bits |= (floatOf(own[k]) > 0.0f ? 1u : 0u) << k;
  to[laneOfGroup() / 4].groups[laneOfGroup() % 4] = static_cast<std::uint16_t>(transposed(bits));
}

template <typename Value>
MSDBG_DEVICE void putInTile(TileSegment& tile, const Value& value) {
  MSDBG_UNROLL
  for (int q = 0; q < kQuads; ++q) {
    Quad quad;
    MSDBG_UNROLL
    for (int k = 0; k < 4; ++k) quad.values[k] = value(4 * q + k);
    tile[q][laneOfGroup()] = quad;
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
    addOrder(own, seen);
    if (part.inRange) addInRange(own, part.start, part.end, seen);
    if (part.countsUnits) writePositive(own, memory.positive + segment * (kSegment / 64));
    if (part.bytes() > kLongestShort) {
      const std::uint64_t sum = segmentSum(own, stripesOf(segment, part.bytes()), memory.secret);
      if (laneOfGroup() % 2 == 0) memory.segments[half][group][laneOfGroup() / 2] = sum;
    }
    putInTile(memory.x[half][group], [&](int k) { return isFinite(own[k]) ? floatOf(own[k]) : 0.0f; });
    if constexpr (kChange)
      putInTile(memory.previous[half][group],
                [&](int k) { return addChange(own[k], previous[k], p.rtol, p.atol, seen); });
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

template <bool kChange>
MSDBG_DEVICE void addSums(const BlockMemory<kChange>& memory, int half, int segments, Ordered& o) {
  const std::uint32_t mask = groupInBlock() == kSumAbsGroup ? kNoSign : ~0u;  // the two groups are one warp
  for (int s = 0; s < segments; ++s) {
    MSDBG_UNROLL
    for (int q = 0; q < kQuads; ++q) {
      const Quad quad = memory.x[half][s][q][laneOfGroup()];
      MSDBG_UNROLL
      for (int k = 0; k < 4; ++k) {
        const auto v = static_cast<double>(floatOf(bitsOf(quad.values[k]) & mask));
        o.first += v;
        o.second += v * v;
      }
    }
  }
}
MSDBG_DEVICE void addChanges(const BlockMemory<true>& memory, int half, int segments, Ordered& o) {
  const bool change = groupInBlock() == kChangeGroup;  // else |previous| = |0 - previous|
  for (int s = 0; s < segments; ++s) {
    MSDBG_UNROLL
    for (int q = 0; q < kQuads; ++q) {
      const Quad x = memory.x[half][s][q][laneOfGroup()],
                 previous = memory.previous[half][s][q][laneOfGroup()];
      MSDBG_UNROLL
      for (int k = 0; k < 4; ++k) {
        const float p = previous.values[k], from = change ? x.values[k] : 0.0f;
        const double d = std::fabs(static_cast<double>(from) - static_cast<double>(p));
        o.first += p == p ? d : 0.0;
      }
    }
  }
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
  if (group == kSumsGroup || group == kSumAbsGroup) addSums(memory, half, segments, o);
  if constexpr (kChange)
    if (group == kChangeGroup || group == kPreviousGroup) addChanges(memory, half, segments, o);
  if (group == kPreviousGroup && laneOfGroup() < kAccumulators && part.bytes() > kLongestShort)
    addToHash(memory, part, tile, o);
}

/// Calls fill(tile) of the carriers and then take(tile) of the others, who have until the carriers have
/// filled the next.
template <typename Fill, typename Take>
MSDBG_DEVICE void overTiles(const BlockPart& part, const Fill& fill, const Take& take) {
  const bool carries = groupInBlock() < kCarriers;
  for (int tile = 0; tile < part.tiles(); ++tile) {
    if (carries) fill(tile);
    blockBarrier();
    if (!carries) take(tile);
  }
}

// --- one block ---

/// Puts where all see it what each group has found.
template <bool kChange>
MSDBG_DEVICE void showFound(const BlockPart& part, Seen& seen, const Ordered& o,
                            BlockMemory<kChange>& memory) {
  const int group = groupInBlock(), lane = laneOfGroup();
  if (group < part.segmentsOfTile(0)) {
    foldSeen<kChange>(seen);
    if (lane == 0) memory.seen[group] = seen;
  }
  if (group == kSumsGroup || group == kSumAbsGroup) {
    const double first = foldGroup(o.first), second = foldGroup(o.second);
    if (lane == 0) memory.sums[group == kSumsGroup ? kSum : kSumAbs] = first;
    if (lane == 0 && group == kSumsGroup) memory.sums[kSumSquares] = second;
  }
  if (group == kChangeGroup || group == kPreviousGroup) {
    const double first = kChange ? foldGroup(o.first) : 0.0;
    if (lane == 0) memory.sums[group == kChangeGroup ? kSumAbsChange : kSumAbsPrevious] = first;
  }
  if (group == kPreviousGroup && lane < kAccumulators && part.bytes() > kLongestShort)
    memory.accumulators[lane] = o.accumulator + lastStripe(part.x, part.bytes(), lane);
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
/// Reads the block once more; deviationsOf() of float_blocks.cpp. For the group of the sums.
template <bool kChange>
MSDBG_DEVICE double deviations(const BlockPart& part, Carrier<kChange>& carrier,
                               BlockMemory<kChange>& memory) {
  const int whole = part.count / kGroup * kGroup;
  const double mean = memory.mean;
  double lane = 0;
  overTiles(
      part,
      [&](int tile) {
        const int first = tile * kTile + groupInBlock() * kSegment;
        bring(part.x, first, whole, carrier.own);
        putInTile(memory.x[tile % 2][groupInBlock()],
                  [&](int k) { return floatOf(isFinite(carrier.own[k]) ? carrier.own[k] : kNaNBits); });
      },
      [&](int tile) {
        if (groupInBlock() != kSumsGroup) return;
        for (int s = 0; s < part.segmentsOfTile(tile); ++s)
          for (int k = 0; k < kOwn; ++k) {
            const float v = memory.x[tile % 2][s][k / 4][laneOfGroup()].values[k % 4];
            const double d = static_cast<double>(v) - mean;
            lane += v == v ? d * d : 0.0;
          }
      });
  return groupInBlock() == kSumsGroup ? foldGroup(lane) + deviationsOfRest(part, mean) : 0.0;
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
MSDBG_DEVICE void readBlock(const StatisticsParameters& p, const BlockPart& part, Carrier<kChange>& carrier,
                            BlockMemory<kChange>& memory) {
  carrier.seen = nothingSeen();
  Ordered ordered{0, 0, kFirstAccumulators[laneOfGroup() % kAccumulators]};
  if (groupInBlock() < kCarriers) carrier.bringTile(part, 0);
  if (threadInBlock() < kSecretBytes / 8) memory.secret[threadInBlock()] = kSecret[threadInBlock()];
  blockBarrier();
  overTiles(
      part,
      [&](int tile) {
        carrier.fill(p, part, tile, memory);
        carrier.bringTile(part, tile + 1);
      },
      [&](int tile) { takeTile(memory, part, tile, ordered); });
  showFound(part, carrier.seen, ordered, memory);
  blockBarrier();
}

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
  Carrier<kChange> carrier;
  readBlock(p, part, carrier, memory);
  const bool carries = groupInBlock() < kCarriers;
  if (groupInBlock() == kSumsGroup && laneOfGroup() == 0) writeRecord(part, memory, p.records[at]);
  if (groupInBlock() == kChangeGroup && laneOfGroup() == 0)
    writeHash(part, memory, reinterpret_cast<std::uint64_t*>(tensor.answer + 1) + 2 * blockOfTensor);
  if (part.countsUnits && carries) countActive(tensor, BlockRuns(tensor, first, part.count), memory);
  blockBarrier();
  if (part.countsUnits && carries) addActive(tensor, BlockRuns(tensor, first, part.count), memory);
  if (!memory.twoPasses) return;
  const double squaredDeviations = deviations(part, carrier, memory);
  if (groupInBlock() == kSumsGroup && laneOfGroup() == 0) p.records[at].squaredDeviations = squaredDeviations;
}
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
