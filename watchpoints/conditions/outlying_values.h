// A tensor of the forward pass that is of another order of magnitude in a single iteration: data in another
// unit, a bit that fell. A normalisation behind it hides that from loss and gradients. Used from one thread.
#pragma once

#include <map>
#include <optional>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class OutlyingValues {
 public:
  explicit OutlyingValues(const core::Graph& graph);
  /// Each iteration once, ascending.
  void add(EvaluationContext& context);
  /// At the end: the first tensor whose root mean square was 1,000 times or more that of any other of its ten
  /// iterations or more, its first one aside. The finding has iteration, rank, tensor, detail.
  std::optional<Finding> first(EvaluationContext& context) const;

 private:
  struct Seen {
    double largest = 0, second = 0;  // root mean squares
    core::Iteration iteration;       // of the largest
    std::int64_t count = 0;          // of iterations
  };
  static bool isOutlying(const Seen& seen);

  std::vector<core::TensorId> m_tensors;
  std::map<core::Rank, std::vector<Seen>> m_seen;  // by the place in m_tensors
};

}  // namespace msdbg::watch
