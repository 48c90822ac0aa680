// Statistics of tensors: the records of their blocks added up in their order, a tensor a thread block.
#pragma once

#include <cmath>
#include <cstring>

#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/group_sums.h"
#include "core_engine/device/kernels/parameters.h"
#include "core_engine/tensor/combine_moments.h"

namespace msdbg::core::device {

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
