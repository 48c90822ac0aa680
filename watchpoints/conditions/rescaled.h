// Data that are scaled again and again, as by a normalisation that writes in place: epoch by epoch another
// size. Used from one thread.
#pragma once

#include <map>
#include <vector>

#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {

class RescaledData {
 public:
  /// Follows inputs, labels, and what else enters the forward pass with two axes or more.
  explicit RescaledData(const core::Graph& graph);
  void add(EvaluationContext& context);
  void finish(EvaluationContext& context, const Outcome& outcome) const;

 private:
  /// Iterations in which mean|x| is about the same.
  struct Level {
    core::Iteration begin;
    double size = 0;
    int iterations = 0;
  };
  using Levels = std::vector<Level>;

  std::vector<core::TensorId> m_tensors;
  std::map<std::pair<core::Rank, core::TensorId>, Levels> m_levels;
};

}  // namespace msdbg::watch
