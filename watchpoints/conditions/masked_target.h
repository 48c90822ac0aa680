// Weights of 0 that stand wherever a target says something: a mask of what is there that was turned round.
// Computed from constants and the batch. A part of mask_reversed. Used from one thread.
#pragma once

#include "watchpoints/conditions/given_values.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class MaskedTarget {
 public:
  explicit MaskedTarget(const core::Graph& graph);
  /// Looks at the first batches whose values are stored.
  void add(EvaluationContext& context);
  void finish(EvaluationContext& context) const;

 private:
  /// |predicted - target|, or its square, times `mask`.
  struct Weighted {
    core::NodeId product;
    core::TensorId mask, target;
    int batches = 0;
    bool right = false;  // it lets something through that is not 0
  };
  static void look(GivenValues& given, Weighted& weighted);

  std::vector<Weighted> m_weighted;
  core::Iteration m_begin;
};

}  // namespace msdbg::watch
