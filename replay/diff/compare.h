// Holds two runs, two ranks or two iterations against each other: where do they part first, and how much?
// Used from the runs' thread.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "replay/diff/comparison.h"
#include "replay/run.h"

namespace msdbg::replay {

struct ComparisonOptions {
  core::CancelToken cancel = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};  // iterations
  Tolerance tolerance = {};
  std::vector<core::TensorId> tensors = {};  // of A; empty: all
  bool asksFor(core::TensorId tensor) const {
    return tensors.empty() || std::ranges::find(tensors, tensor) != tensors.end();
  }
  /// Measures all that differs in all iterations. Else the first iteration with a difference is measured, and
  /// of those behind it some are looked at, ever further apart.
  bool all = false;
};

// Where a run has values that were not stored from a ValueSource (Run::computeMissingBy), these count as
// stored. Of a run that is changed while it is compared nothing is promised. kCancelled.

/// The iterations that both have, of those for which `wanted` holds. Rank by rank; of runs with other numbers
/// of ranks what should be equal on all of them: of the first ranks parameters, reduced gradients, updates.
core::Result<Comparison> compareRuns(Run& a, Run& b, const core::IndexList& wanted,
                                     const std::vector<core::Rank>& ranks, const ComparisonOptions& options);
/// What the parallel plan says is equal on both is compared; the rest is Agreement::kByNature.
core::Result<Comparison> compareRanks(Run& run, core::Rank a, core::Rank b, const core::IndexList& wanted,
                                      const ComparisonOptions& options);
/// Of each of these ranks. There is no first difference: parameters change by nature.
core::Result<Comparison> compareIterations(Run& run, core::Iteration a, core::Iteration b,
                                           const std::vector<core::Rank>& ranks,
                                           const ComparisonOptions& options);

}  // namespace msdbg::replay
