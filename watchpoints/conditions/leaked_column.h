// A target that is, bit for bit, one of the numbers that the model reads. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Pairs of floating-point data: a target of one number a sample, which something learnt is subtracted from,
/// and an input of several numbers a sample.
class LeakedColumn {
 public:
  explicit LeakedColumn(const core::Graph& graph);
  /// Looks at the first batches that were stored.
  void add(EvaluationContext& context);
  /// A fault for the first pair with a column that was equal in all of them.
  void finish(EvaluationContext& context) const;

 private:
  struct Pair {
    core::TensorId target, input;
    std::vector<std::int64_t> columns;  // equal so far; of the first batch on
    int batches = 0;
  };
  static void compare(Pair& pair, const core::Tensor& target, const core::Tensor& input);

  std::vector<Pair> m_pairs;
  core::Iteration m_begin;
};

}  // namespace msdbg::watch
