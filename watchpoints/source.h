// Source: what conditions are evaluated on. replay implements it over a run; tests over a table. Not
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::core {
class GraphPart;
}  // namespace msdbg::core

namespace msdbg::watch {

struct StatisticsRow {
  core::TensorStatistics values;
  std::optional<core::ChangeStatistics> change;
  std::optional<core::ActivationStatistics> activation;
};

class Source {
 public:
  /// How a rank came to its end when it did not end in good order.
  struct RunFailure {
    core::Rank rank;
    core::Iteration iteration;  // invalid: not known
    core::NodeId node;          // that it was at; invalid: not known, or between two iterations
    std::string text;           // one sentence in the user's words
  };

  /// What a rank's nodes compute from their recorded inputs, held against what was recorded.
  struct Recheck {
    struct Mismatch {
      core::TensorId tensor;          // the node's output
      std::int64_t element = 0;       // flat index of the first that differs
      std::int64_t count = 0;         // how many do; 0: the value is not stored, its hash tells
      double recorded = 0, here = 0;  // of that element
    };
    std::int64_t outputs = 0;  // so many were held against what was recorded
    std::vector<Mismatch> mismatches;
    std::int64_t unasked =
        0;  // outputs that could not be: their inputs are not known, or nothing was recorded
  };

  virtual ~Source() = default;
  virtual const core::Graph& graph() const = 0;
  /// What of graph() there is on a rank in an iteration, and in which order. nullptr: all of it, in its own.
  virtual const core::GraphPart* part(core::Rank, core::Iteration) const { return nullptr; }
  /// Whether what graph() shows around a node or tensor (either may be invalid) is so in one of the graphs
  /// that it was made of: what only the graph tells is asked there.
  virtual bool isWhole(core::NodeId, core::TensorId) const { return true; }
  virtual std::vector<core::Rank> ranks() const = 0;
  /// How many ranks trained, recorded or not: a collective is only complete with the inputs of all of them.
  virtual int rankCount() const { return static_cast<int>(ranks().size()); }
  /// Where what the graph calls replicated is so within groups of ranks only (a mesh of shards and replicas):
  /// those groups, each ascending. Empty: on all ranks, or as the graph itself says.
  virtual const std::vector<std::vector<core::Rank>>& replicaGroups() const;
  /// The names of the axes along which ranks are laid out ("dp", "tp"), where somebody knows; else empty.
  virtual std::vector<std::string> meshAxes() const { return {}; }
  /// Recorded iterations of a rank, ascending (an incomplete last one included).
  virtual std::vector<core::Iteration> iterations(core::Rank rank) const = 0;
  /// nullptr when not recorded or lost to damage: missingReason() then says which. Cheap when asked iteration
  /// by iteration, over all tensors and ranks. Valid until statistics(), value() or scalar() was called 16
  /// more times, so a few rows can be compared without copies.
  virtual const StatisticsRow* statistics(core::Rank rank, core::Iteration iteration,
                                          core::TensorId tensor) = 0;
  /// Why the last statistics() gave nullptr: `no_value`, `thinned` (they went to keep within --max-size),
  /// `only_flags` (flags() has a row) or `damaged`.
  virtual std::string missingReason() const { return "no_value"; }
  /// How many elements are NaN or Inf: statistics(), or a row of which nothing else is known (core::isFlags).
  /// nullptr, and as long valid, as statistics().
  virtual const StatisticsRow* flags(core::Rank rank, core::Iteration iteration, core::TensorId tensor) {
    return statistics(rank, iteration, tensor);
  }
  /// The value that was recorded: stored as such, or a part of a checkpoint or batch. kUnavailable: neither.
  virtual core::Result<core::Tensor> value(core::Rank rank, core::Iteration iteration,
                                           core::TensorId tensor) = 0;
  /// As such.
  virtual bool stored(core::Rank rank, core::Iteration iteration, core::TensorId tensor) const = 0;
  virtual std::optional<double> scalar(core::Rank rank, core::Iteration iteration,
                                       const std::string& name) = 0;
  /// kUnavailable: nobody computes, or what is needed is not stored.
  virtual core::Result<Recheck> recheck(core::Rank, core::Iteration) {
    return core::Error(core::ErrorCode::kUnavailable,
                       "nothing is computed again here: msdbg check --recheck does");
  }
  /// At most one of a rank. None of a run that goes on, or that somebody stopped.
  virtual std::vector<RunFailure> failures() const { return {}; }
};

}  // namespace msdbg::watch
