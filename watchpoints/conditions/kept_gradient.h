// Gradients that still hold those of the iteration before, since nobody set them to zero. Used from one
// thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {

/// Of a program whose gradients are added up in place (PyTorch's AccumulateGrad): what a backward pass adds
/// to was there when the iteration began, and is, bit for bit, the gradient that the update before read.
/// Gradients that are gathered within an iteration, or set to zero in it, are made in it. A sparse one keeps
/// the rows of all backward passes, one behind the other: it grows with each. Where the recorder itself saw
/// that the gradients of the step before were there (scalar "gradients_kept"), that is said once.
class KeptGradients {
 public:
  explicit KeptGradients(const core::Graph& graph);
  /// Once for a parameter and rank, at its update, the second time that it is so.
  void evaluate(EvaluationContext& context);

 private:
  struct Kept {
    ParameterUpdate update;
    core::TensorId old;  // what is added to
    /// What the gradient was in the course of an iteration: at the update, and as other backward passes left
    /// it.
    std::vector<core::TensorId> gradients;
    int times = 0;
  };
  /// The one of them that it is, bit for bit, from the iteration before; invalid: none.
  static core::TensorId keptFrom(EvaluationContext& context, core::Rank rank, const Kept& kept);
  /// The rows of a sparse gradient, on a rank.
  struct Growth {
    std::int64_t first = 0, last = 0;  // elements: when it began to grow, and now
    int times = 0;
  };
  void lookAtSparse(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update);
  void add(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update,
           std::string detail) const;

  bool isToldSo(EvaluationContext& context, core::Rank rank);

  std::vector<Kept> m_kept;
  std::optional<ParameterUpdate> m_step;  // the first of an optimizer
  std::map<core::Rank, int> m_told;       // iterations of which the recorder said it
  std::vector<ParameterUpdate> m_sparse;  // whose gradient has no fixed number of rows
  std::map<std::pair<core::Rank, core::TensorId>, Growth> m_growth;
};

}  // namespace msdbg::watch
