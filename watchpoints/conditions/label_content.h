// Labels, or answers of yes and no, that are all one class, in every iteration or batch by batch; indices
// that a cast made one. A part of batch_content. Used from one thread.
#pragma once

#include <map>
#include <set>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class LabelContent {
 public:
  explicit LabelContent(const core::Graph& graph);
  void evaluate(EvaluationContext& context);
  void finish(EvaluationContext& context);

 private:
  struct Seen {
    bool constant = true;
    double value = 0;
    std::int64_t samples = 0, iterations = 0;
    std::int64_t ofOneClass = 0;  // iterations whose labels are all equal
    std::set<double> classes;     // of these
    Finding finding;              // of the first iteration
  };

  void lookAt(EvaluationContext& context, const Place& place);
  /// Read class by class. A discriminator that is shown one of two kinds at a time is meant.
  static void addSorted(EvaluationContext& context, const Seen& seen);

  std::vector<core::TensorId> m_labels;
  std::set<core::TensorId> m_cut;     // of m_labels: indices that were cast
  std::set<core::TensorId> m_binary;  // of m_labels: the targets of a binary cross-entropy
  std::map<std::pair<core::Rank, core::TensorId>, Seen> m_seen;
};

}  // namespace msdbg::watch
