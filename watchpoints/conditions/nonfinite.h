// Which values that are not finite are meant: the -Inf of masks. Pure functions of the graph; thread-safe.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class NonFinite {
 public:
  explicit NonFinite(const core::Graph& graph);

  /// Infinities that are meant. -Inf of a mask: it enters the graph as such, is only moved, added or picked,
  /// and ends in an operator that makes it finite (Softmax, Exp, a maximum, a comparison); or the recorder of
  /// its node says so (kMeantInfinity); or only whole numbers are made of it. +Inf only where the recorder
  /// says so.
  bool isMeant(core::TensorId tensor, const core::TensorStatistics& values) const {
    return values.nan == 0 && values.inf() > 0 && (values.negInf == 0 || m_masked[tensor.index()]) &&
           (values.posInf == 0 || m_positive[tensor.index()]);
  }

  /// Whether a program of PyTorch computed the tensor under no_grad(), and leads to no loss with it: a
  /// metric.
  bool isBeside(core::TensorId tensor) const { return m_beside[tensor.index()]; }
  /// Whether something that is not finite gets to a loss, a gradient or a weight in this iteration of the
  /// rank. Also where no loss is recorded, as where the program ended before it.
  bool reachesTraining(EvaluationContext& context, core::Rank rank) const;

 private:
  std::vector<bool> m_masked, m_positive, m_beside;  // by tensor
};

}  // namespace msdbg::watch
