// History: one element of a tensor over iterations and ranks, with what belongs to it: its gradients, the
// optimizer's states, its next value. What is stored is read, the rest is computed again by
// whom the caller names.
#pragma once

#include <functional>
#include <memory>

#include "core_engine/base/cancel.h"
#include "replay/proof.h"
#include "replay/run.h"

namespace msdbg::replay {

struct HistoryRow {
  core::Iteration iteration;
  core::Rank rank;
  std::vector<std::optional<double>> values;  // by column; of a single number also from its statistics
  bool computed = false;                      // some of them were computed again
  bool other = false;  // and have another hash than the recorded one, or follow from what has
};

struct History {
  std::vector<core::TensorId> columns;   // the tensor itself first
  std::vector<HistoryRow> rows;          // by iteration, then rank
  std::vector<Proof::Unproved> missing;  // iterations of which something is not there
  std::vector<std::string> otherHere;    // where rows were computed: Proof::otherHere
};

/// One element of some tensors in an iteration, computed again.
struct ComputedElements {
  std::vector<std::vector<std::optional<double>>> values;  // by Rank::index(), then as `tensors`
  bool other = false;                                      // HistoryRow::other
};

/// Whoever computes again (replay/recompute).
class ElementComputer {
 public:
  virtual ~ElementComputer() = default;
  /// Of all ranks. `element`: row-major. kUnavailable, in words: it cannot be computed; kCancelled.
  virtual core::Result<ComputedElements> compute(core::Iteration iteration,
                                                 const std::vector<core::TensorId>& tensors,
                                                 std::int64_t element) = 0;
  /// Proof::otherHere, of what was computed.
  virtual std::vector<std::string> otherHere() const = 0;
};

struct HistoryOptions {
  core::CancelToken cancel = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
  /// Made once something is not stored; empty: only what is stored.
  std::function<core::Result<std::unique_ptr<ElementComputer>>()> computer = {};
};

/// The tensor and those that are named after it, `grad(T)`, `momentum(T)`, `next(T)`, and have its shape.
std::vector<core::TensorId> historyColumns(const core::Graph& graph, core::TensorId tensor);

/// `element`: row-major. kUsage: there is no such element; kCancelled.
core::Result<History> historyOf(Run& run, core::TensorId tensor, std::int64_t element,
                                const std::vector<core::Rank>& ranks, const core::IterationSet& iterations,
                                const HistoryOptions& options);

}  // namespace msdbg::replay
