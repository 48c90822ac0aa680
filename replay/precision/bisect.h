// Precision bisect: each node of a recorded iteration in float64, by its operator's reference kernel, twice:
// from its recorded inputs (the error that it made itself) and from float64 inputs throughout (the error that
// has come together). Masks, indices and counts are taken as recorded in both.
#pragma once

#include <functional>

#include "core_engine/base/cancel.h"
#include "replay/precision/precision.h"
#include "replay/run.h"

namespace msdbg::replay {

struct BisectOptions {
  core::CancelToken cancel = {};
  /// Nodes that are done, of all on all ranks.
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
  /// Iterations computed again for values that are not stored, and how many it takes.
  std::function<void(std::int64_t done, std::int64_t all)> recomputing = {};
};

/// Of these ranks; what collectives need of the others is computed too. Values that are not stored are
/// computed again, and count only where they have the recorded hash (Hindsight). Reads the run on the
/// caller's thread; equal results for any number of threads. kUnavailable: nothing can be compared, or memory
/// does not suffice; kUnsupported: a run of another format; kCancelled; kDamaged.
core::Result<Precision> bisectPrecision(Run& run, core::Iteration iteration,
                                        const std::vector<core::Rank>& ranks, const BisectOptions& options);

}  // namespace msdbg::replay
