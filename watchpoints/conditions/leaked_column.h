// A target that is one of the numbers that the model reads: bit for bit, or but for its scale and where it
// begins, as what was standardised is. Used from one thread.
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
  /// A fault for the first pair with a column that was equal in all of them; a hint for one that is a
  /// straight line of the target in all of them, where most are not.
  void finish(EvaluationContext& context) const;

 private:
  struct Line {
    std::int64_t column;
    double slope, begin;
  };
  struct Pair {
    core::TensorId target, input;
    std::vector<std::int64_t> columns = {};  // equal so far; of the first batch on
    std::vector<Line> lines = {};            // slope * target + begin so far
    int batches = 0;
  };
  static void compare(Pair& pair, const core::Tensor& target, const core::Tensor& input);
  void tell(EvaluationContext& context, const Pair& pair, std::int64_t column, bool equal) const;

  std::vector<Pair> m_pairs;
  core::Iteration m_begin;
};

}  // namespace msdbg::watch
