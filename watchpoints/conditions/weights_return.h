// Weights that become again, bit for bit, what they were when training began: what was learnt in between is
// thrown away. Used from one thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Of the first rank that has them: those of others do the same.
class WeightsReturn {
 public:
  explicit WeightsReturn(const core::Graph& graph);
  void evaluate(EvaluationContext& context);
  /// A hint, one for all weights: they return three times and more, each time after five iterations at least,
  /// and still in the second half of the run. Once or early it is a task of a meta-learner, or a fold.
  std::optional<Finding> finding(EvaluationContext& context) const;

 private:
  struct Weight {
    core::TensorId tensor;
    core::Rank rank = {};
    std::optional<core::Hash128> first = {};
    std::int64_t away = 0;  // iterations since it was what it was first
    bool often = false;     // it returned after fewer than that
    std::vector<core::Iteration> returns = {};
  };
  void look(EvaluationContext& context, Weight& weight);

  std::vector<Weight> m_weights;  // the first of them
  std::size_t m_count = 0;
  std::vector<core::Iteration> m_iterations;
};

}  // namespace msdbg::watch
