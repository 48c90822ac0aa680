// Statistics and hashes of blocks of 64 KiB, with the bits of core_engine/tensor (float_blocks.cpp,
// block_statistics.cpp, hash.cpp). A block is a thread block's. Carriers, 8 groups of 16 threads, bring tiles
// of 8 KiB from memory, one ahead, and do what may be done in any order: counts, ends, and each group the
// stripes of one segment of the hash (xxh3.h). Two warps then take from the tile what has an order, one lane
// for each lane of the CPU: the sums, and the sums of the change and the chain of the hash. The records of
// all blocks are then added up, in the order of the blocks, a tensor a thread block.
#pragma once

#include "core_engine/device/kernels/statistics_carriers.h"
#include "core_engine/device/kernels/statistics_sums.h"

namespace msdbg::core::device {

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

}  // namespace msdbg::core::device
