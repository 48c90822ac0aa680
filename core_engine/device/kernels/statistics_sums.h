// Of statistics.h: what has an order: sums, in the CPU's lanes, and the chain of the hash.
#pragma once

#include "core_engine/device/kernels/statistics_memory.h"

namespace msdbg::core::device {

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

}  // namespace msdbg::core::device
