// Which term of a loss makes it fall. Used from one thread.
#pragma once

#include <map>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Sums, differences, means and multiples that the loss is made of, from the loss down.
class LossTerms {
 public:
  LossTerms(const core::Graph& graph, core::TensorId loss);

  /// Takes in the terms' means of the iteration; call it in every one.
  void add(EvaluationContext& context);
  /// The innermost sum or difference on the way to the term that fell from the first to the last
  /// iteration, alone or nearly so, or rose where it is subtracted. The loss itself where it has no terms.
  struct Blame {
    core::TensorId sum;   // of terms
    core::TensorId term;  // invalid: the loss has none
  };
  Blame falling(const core::Graph& graph) const;

 private:
  struct Means {
    double first = 0, last = 0;
    bool seen = false;
    double change() const { return last - first; }
  };
  core::TensorId m_loss;
  std::map<core::TensorId, Means> m_means;
};

}  // namespace msdbg::watch
