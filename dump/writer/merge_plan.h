// Which small neighbouring segments become one file next: size-tiered, so that n commits leave some
// log(n) files and every byte is written a few times only. A pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dump/writer/retention.h"

namespace msdbg::dump {

/// Segments of one level that become one of the next.
inline constexpr std::size_t kMergeWidth = 8;
/// No merged file is larger: a reader takes the statistics of a segment into memory as a whole, and the
/// recorder builds the file there.
inline constexpr std::uint64_t kLargestMerge = 64u << 20;

struct MergeLimits {
  std::uint64_t statisticsBytes = kLargestMerge;  // of a file without values
  std::uint64_t valueBytes = kLargestMerge;  // of one with values (they go together), checkpoints, batches
  std::int64_t valueIterations = INT64_MAX;  // so many iterations of values at most come and go together
  std::function<bool(const KeptSegment&)> mayMerge;
  std::size_t width = kMergeWidth;
};

/// Segment numbers, oldest first, at least two; empty: nothing is worth it.
std::vector<std::int64_t> planMerge(std::span<const KeptSegment> segments, const MergeLimits& limits);

}  // namespace msdbg::dump
