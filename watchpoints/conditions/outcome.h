// How training went: the loss, averaged over the ranks that are looked at. What a large step did is told by
// what came after it. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

class Outcome {
 public:
  explicit Outcome(const core::Graph& graph, const Parameters& parameters = {});

  /// Takes in the loss of the iteration; call it in every one. Where its statistics were thinned, the scalar
  /// that stayed is the loss.
  void add(EvaluationContext& context);

  struct Loss {
    core::Iteration iteration;
    double value;  // mean over ranks; NaN where one is not finite
  };
  const std::vector<Loss>& losses() const { return m_losses; }
  core::TensorId tensor() const { return m_loss; }  // invalid: the graph has no loss
  bool finite() const { return m_finite; }
  /// The first loss is NaN or Inf: what made it so explains all that follows, large and saturated values too.
  bool beginsNonFinite() const;
  /// Whether the loss at the end is clearly (by 30 %) below that of the iteration, all of them being finite,
  /// with five iterations at least after it. A cross-entropy that ends far above what guessing costs
  /// recovered from nothing. A loss below zero has no size to compare with: it falls by more than its noise.
  bool recoveredSince(core::Iteration iteration) const;
  /// Whether a loss that is NaN or Inf later had recovered like that before it was: then something else made
  /// it so.
  bool recoveredBeforeNonFinite(core::Iteration iteration) const;

 private:
  bool recovered(core::Iteration iteration, std::span<const Loss> losses) const;

  core::TensorId m_loss;
  bool m_given = false;  // the program's own numbers are better: see lossOf()
  double m_guessing;     // what guessing a class costs; infinite where the loss is no cross-entropy
  std::vector<Loss> m_losses;
  bool m_finite = true;
};

/// The loss of a rank as PyTorch's recorder gives it: without the factor of a GradScaler, the sum over the
/// parts of an accumulation and over all losses that backward() was called on ("loss", "loss/1", …). nullopt:
/// none.
std::optional<double> givenLoss(EvaluationContext& context, core::Rank rank);

/// The loss as the scalar of this name, which stays when statistics are thinned; nullopt: they were not, or
/// `tensor` is another one.
std::optional<double> lossOfThinned(EvaluationContext& context, core::Rank rank, core::TensorId tensor);

/// Of a loss that is a softmax cross-entropy; 0: it is another. Guessing one of them costs log(classes).
std::int64_t classesOfLoss(const core::Graph& graph);

/// Two at least.
struct LossWindow {
  double mean = 0, error = 0;  // of the mean: standard deviation / sqrt(n)
};
LossWindow windowOf(std::span<const Outcome::Loss> losses);
/// Whether the last quarter is below the first by so many errors of their difference; eight losses at least.
bool fallsClearly(std::span<const Outcome::Loss> losses, double errors);

}  // namespace msdbg::watch
