// Columns of a table that were left out where the others were scaled. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Floating-point data of several numbers a sample, [n, columns], that a matrix product reads as they are.
class ColumnScale {
 public:
  explicit ColumnScale(const core::Graph& graph);
  /// Looks at the first batches that were stored.
  void add(EvaluationContext& context);
  /// A hint for each input with a column whose root mean square is far above the median one's and above what
  /// weights are made for.
  void finish(EvaluationContext& context) const;

 private:
  struct Table {
    core::TensorId input;
    std::vector<double> squares;  // by column, summed over all samples that were looked at
    std::int64_t samples = 0;
    int batches = 0;
  };
  static void add(Table& table, const core::Tensor& value);

  std::vector<Table> m_tables;
  core::Iteration m_begin;
};

}  // namespace msdbg::watch
