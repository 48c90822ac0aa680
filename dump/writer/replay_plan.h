// Which checkpoints and batches go next, so that the rest fits: first batches that no checkpoint leads to,
// then checkpoints, so that the older they are the further apart they stay, and where that would make the way
// from one to the next too long, the oldest checkpoint with its batches. What stays can all be computed
// again. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "core_engine/base/iteration_set.h"
#include "dump/writer/retention.h"

namespace msdbg::dump {

/// Of one segment; what goes is of the iterations named here.
struct ReplayPlan {
  std::int64_t segment = -1;  // -1: nothing can go
  core::IterationSet checkpoints, batches;

  bool empty() const { return segment < 0; }
};

struct ReplayNeed {
  std::uint64_t bytes = 0;  // to go; 0: only batches that no checkpoint leads to
  std::uint64_t room = 0;   // for all checkpoints and batches: batches between two checkpoints take an eighth
                            // of it at most because of what goes
  core::IterationSet anew = {};  // iterations that do not follow from those before them
  /// The first that went wrong: what it is computed from stays where that is half of `room` at most. -1:
  /// none.
  std::int64_t fault = -1;
  bool newestToo = false;  // the newest checkpoint and what is computed from it, too
};
ReplayPlan planReplay(std::span<const KeptSegment> segments, const ReplayNeed& need);

/// Raw bytes of the batch of one iteration, about; 0: there are none.
std::uint64_t batchBytesOf(std::span<const KeptSegment> segments);

}  // namespace msdbg::dump
