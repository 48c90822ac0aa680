// What a loss costs that looks at nothing but how the targets are spread: whoever is no better has learnt
// nothing from the inputs. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class Guessing {
 public:
  explicit Guessing(const core::Graph& graph);

  /// Takes in the targets of the iteration; call it in every one.
  void add(EvaluationContext& context);
  /// Of a cross-entropy of classes their logarithm; of a mean of squares the variance of its target, mean
  /// over iterations. nullopt: the loss is another.
  std::optional<double> cost() const;
  /// "guessing one of 4 classes", "giving the mean of net/y for every sample"
  std::string text(const core::Graph& graph) const;

 private:
  std::int64_t m_classes;
  core::TensorId m_target;  // of a mean of squares
  double m_variances = 0, m_count = 0;
};

}  // namespace msdbg::watch
