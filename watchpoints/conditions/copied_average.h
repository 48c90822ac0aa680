// Averages of weights that are copied into the weights themselves, as for an evaluation, and left there.
#pragma once

#include <optional>
#include <vector>

#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {

/// Of the first rank that is looked at: those of others do the same. Used from one thread.
class CopiedAverages {
 public:
  explicit CopiedAverages(const core::Graph& graph);
  void evaluate(EvaluationContext& context);
  /// A hint, one for all weights: the average goes on in iterations that do not copy it (what only moves when
  /// it is copied is a way to train, Lookahead's), and the optimizer steps from the copy. Where a program
  /// puts back what was there, its next step reads that.
  std::optional<Finding> finding(EvaluationContext& context) const;

 private:
  struct Copied {
    core::TensorId weight, average, next;              // next: the weight after the copy
    core::NodeId step = {};                            // of its optimizer
    std::int64_t averaged = 0, copied = 0, since = 0;  // iterations; since: after the first copy
    core::Iteration first = {};
    core::Rank rank = {};
  };
  std::vector<Copied> m_all;
};

}  // namespace msdbg::watch
