// The questions of loss_input that fill a file each. From the graph alone, where nothing else is said.
#pragma once

#include "watchpoints/condition.h"

namespace msdbg::watch {

/// Whatever applies a softmax or a sigmoid on the way to a loss, an operator or a formula written by hand,
/// and is given what went through one already, or was cut off.
void checkLogits(EvaluationContext& context);
/// A loss that is minus a distance, or a log-probability that is not negated.
void checkSign(EvaluationContext& context, core::TensorId loss);
/// A loss that takes another axis for the samples than the batch, which was reduced or moved before;
/// `learnt`: learntTensors().
void checkBatchAxis(EvaluationContext& context, const std::vector<bool>& learnt);
/// Terms of a loss of which one is a mean over samples, another a sum over them: a hint.
void checkReductions(EvaluationContext& context, core::TensorId loss);
/// Places of maxima that are added as numbers; a squared mean of differences (a hint); a sum over the samples
/// that is added to each; a term without gradient. `learnt`: learntTensors().
void checkNumbers(EvaluationContext& context, core::TensorId loss, const std::vector<bool>& learnt);
/// An area of two sides that are overlaps and not cut off at zero: the product of two negative ones counts as
/// one. The area of boxes of the batch that is negative: they are not given by their corners. Its rows tell.
void checkOverlap(EvaluationContext& context, const core::Node& node, const std::vector<bool>& learnt);
/// An overlap of areas, as Dice is, of what no sigmoid bounds. `learnt`: learntTensors().
void checkDice(EvaluationContext& context, const core::Node& quotient, const std::vector<bool>& learnt);
/// Of a sum: the density of a normal distribution without the logarithm of its deviation, the weights of a
/// mixture without theirs: hints.
void checkDensity(EvaluationContext& context, const core::Node& sum, const std::vector<bool>& learnt);
/// A term that is the logarithm of a scale, with the sign of its exponential: a hint.
void checkExponentSign(EvaluationContext& context, core::TensorId loss, const std::vector<bool>& learnt);
/// A target that is learnt itself: of a teacher that nothing else holds, or the next value of what it is the
/// target of: hints.
void checkTarget(EvaluationContext& context, core::TensorId loss);
/// The divergence of a VAE, written by hand, with the wrong sign.
void checkDivergenceSign(EvaluationContext& context, core::TensorId loss);
/// A negative log-likelihood or a CTC loss that is below zero: it was not given logarithms of probabilities.
/// The row of the loss tells, where that of its input is not recorded.
void checkBelowZero(EvaluationContext& context, core::TensorId loss);
/// Labels that the recorder found to be the tokens two places on, or padding (a hint).
void checkLabels(EvaluationContext& context);
/// A recurrent layer or a self-attention of PyTorch that takes the axis of the samples for time, as the loss
/// counts them; a recurrent layer whose state outlives its batch while the loader shuffles.
void checkTimeAxis(EvaluationContext& context);
/// A loss that is divided by the number of iterations over which the trainer averages anyway.
void checkAccumulation(EvaluationContext& context, core::TensorId loss);
/// A cross-entropy over the products of all samples with all, themselves included.
void checkOwnSimilarity(EvaluationContext& context, const core::Node& crossEntropy);

/// The softmax or sigmoid that a Log takes the logarithm of, past guards against log(0) and 1 - p; nullptr:
/// none.
const core::Node* probabilityOf(const core::Graph& graph, const core::Node& log);

/// A policy gradient whose loss is the log-probability of what was sampled times its reward, and not minus
/// that.
void checkPolicySign(EvaluationContext& context, core::TensorId loss);

/// Whether the operator gives minus its other input (returned), or a positive multiple of it.
struct Signed {
  core::TensorId input;
  bool negated = false;
};
std::optional<Signed> signedInput(const core::Graph& graph, const core::Node& node);

/// What the loss is a mean, a sum or a positive multiple of, or was divided by what came with the data
/// (lengths of sequences); nullptr: nothing made it.
const core::Node* measureOf(const core::Graph& graph, core::TensorId loss);

/// Of a loss that is not below zero if it is given what it takes.
struct NeverBelowZero {
  core::NodeId node;          // that computes it
  bool binary = false;        // a binary cross-entropy; else a negative log-likelihood, or a CTC loss
  core::TensorId given = {};  // what must be wrong; invalid: no operator is recorded
  std::string why = {}, advice = {};
};
std::optional<NeverBelowZero> neverBelowZero(const core::Graph& graph, core::TensorId loss);

/// The loss of this iteration, if it is below zero by more than rounding.
std::optional<double> belowZero(EvaluationContext& context, core::Rank rank, core::TensorId loss);

}  // namespace msdbg::watch
