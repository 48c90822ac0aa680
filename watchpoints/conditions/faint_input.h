// Data that reach the first layer far below the size that its weights are made for, or that hardly vary. Used
// from one thread.
#pragma once

#include <cmath>

#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {

class FaintInput {
 public:
  explicit FaintInput(const core::Graph& graph);
  void add(EvaluationContext& context);
  /// Excused where training went well: nothing then, unless something else is wrong.
  void finish(EvaluationContext& context, const Outcome& outcome) const;

 private:
  struct Read {
    core::TensorId tensor;
    double reach = 0;  // largest |x| of all iterations
    double least = INFINITY, most = -INFINITY;
  };
  void addAlike(EvaluationContext& context, const Outcome& outcome, const Read& read) const;

  std::vector<Read> m_read;
  core::Iteration m_begin;
};

}  // namespace msdbg::watch
