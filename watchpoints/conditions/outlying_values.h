// A tensor of the forward pass that is of another order of magnitude in a single iteration: data in another
// unit, a bit that fell. A normalisation behind it hides that from loss and gradients. Used from one thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

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
  struct Seen {                     // small: a run has very many tensors
    float largest = 0, second = 0;  // root mean squares, each of the rank where it is largest in an iteration
    std::int32_t at = kFirst;       // the number of the iteration with the largest, in m_iterations
    std::int32_t count = 0;         // of iterations
    std::int32_t rank = 0;          // of the largest
  };
  static constexpr std::int32_t kFirst = -1;
  static bool isOutlying(const Seen& seen);
  /// The largest of all ranks now; nullopt: none has it.
  std::optional<std::pair<float, core::Rank>> sizeOf(EvaluationContext& context, core::TensorId tensor) const;

  std::vector<core::TensorId> m_tensors;
  std::vector<core::Iteration> m_iterations;
  std::vector<Seen> m_seen;  // by the place in m_tensors
};

}  // namespace msdbg::watch
