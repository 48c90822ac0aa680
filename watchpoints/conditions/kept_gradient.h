// Gradients that still hold those of the iteration before, since nobody set them to zero. Used from one
// thread.
#pragma once

#include <vector>

#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {

/// Of a program whose gradients are added up in place (PyTorch's AccumulateGrad): what a backward pass adds
/// to was there when the iteration began, and is, bit for bit, the gradient that the update before read.
/// Gradients that are gathered within an iteration, or set to zero in it, are made in it.
class KeptGradients {
 public:
  explicit KeptGradients(const core::Graph& graph);
  /// Once for a parameter and rank, at its update, the second time that it is so.
  void evaluate(EvaluationContext& context);

 private:
  struct Kept {
    ParameterUpdate update;
    core::TensorId old;  // what is added to
    int times = 0;
  };
  std::vector<Kept> m_kept;
};

}  // namespace msdbg::watch
