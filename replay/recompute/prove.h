// Computes iterations again and holds every tensor against what was recorded of it.
#pragma once

#include <functional>

#include "core_engine/base/cancel.h"
#include "replay/proof.h"
#include "replay/run.h"

namespace msdbg::replay {

struct ProveOptions {
  core::CancelToken cancel = {};
  /// Iterations computed so far, and how many it will be unless something differs.
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
  bool again = true;  // what differs is computed a second time
};

/// Of the iterations that are recorded; those from the checkpoint to the first of them are computed on the
/// way, and compared as well. Where something differs all that follows does, so it goes on from the next
/// checkpoint. kUnsupported: the run holds nothing to compute it from; kCancelled.
core::Result<Proof> prove(Run& run, const core::IterationSet& iterations, const ProveOptions& options);

}  // namespace msdbg::replay
