// Which values that are not finite do harm. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class NonFinite {
 public:
  explicit NonFinite(const core::Graph& graph);

  /// -Inf of a mask: it enters the graph as such, is only moved, added or picked, and ends in an operator
  /// that makes it finite (Softmax, Exp, a maximum, a comparison).
  bool isMask(core::TensorId tensor, const core::TensorStatistics& values) const {
    return m_masked[tensor.index()] && values.nan == 0 && values.posInf == 0 && values.negInf > 0;
  }
  /// Whether the loss, a parameter's gradient or an update of this iteration is not finite, or not recorded.
  /// What reaches none of them was picked away again.
  bool doesHarm(EvaluationContext& context, core::Rank rank) const;

 private:
  std::vector<bool> m_masked;          // by tensor
  std::vector<core::TensorId> m_ends;  // loss, gradients of parameters, updates
};

}  // namespace msdbg::watch
