// Gradients that overflow under a GradScaler: it skips the step and lowers its factor, which is what it is
// for. Used from one thread.
#pragma once

#include <map>
#include <vector>

#include "watchpoints/condition.h"

namespace msdbg::watch {

/// The step of this iteration was skipped: gradients are infinite, and 0 once they were clipped.
bool stepIsSkipped(EvaluationContext& context, core::Rank rank);

class ScalerSkips {
 public:
  /// Of what was found in this iteration, from `first` on: findings of backward and update nodes on a rank
  /// whose step was skipped (scalar "step_skipped") are held back, and dropped when a step is taken again.
  /// They come out after all where the factor (scalar "loss_scale") has fallen below 1, as it does when
  /// something other than overflow is wrong. What the forward pass made stays.
  void hold(EvaluationContext& context, std::size_t first);

 private:
  std::map<core::Rank, std::vector<Finding>> m_held;
};

}  // namespace msdbg::watch
