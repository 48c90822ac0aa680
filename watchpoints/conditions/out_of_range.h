// What is out of its own range in an iteration: the first tensor, and the gradients that make up the norm.
// Asked where something is wrong already, as it reads up to 50 iterations before of every tensor. Used from
// one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// A number among those that came before: how far above their median, in median absolute deviations (MAD). A
/// spread below `floor` times |median| counts as that, so that what hardly varies has no spikes by rounding.
struct Spread {
  double median = 0, mad = 0;
  double limit(double times) const { return median + times * mad; }
};
Spread spreadOf(std::vector<double> values, double floor);

/// The first tensor in order whose largest |x| is above median + 8 MAD and twice the median of up to 50
/// iterations before (ten at least), or above 100 times the largest of fewer (five at least). Data and
/// parameters come before nodes; states of optimizers are left out. Where that is made of what no iteration
/// before computed, the first of those.
struct Outlier {
  core::TensorId tensor;
  double largest = 0, usual = 0;  // |x|, now and at the median of the iterations before
  std::int64_t time = 0;          // where it ran in the iteration; -1: it is a source
  bool isNew = false;             // of what was found to be larger: no iteration before has this tensor
};
std::optional<Outlier> firstOutOfRange(EvaluationContext& context, core::Rank rank,
                                       core::Iteration iteration);
/// The same of what reaches so many times what it usually did, in three iterations at least.
std::optional<Outlier> suddenOutlier(EvaluationContext& context, core::Rank rank, core::Iteration iteration,
                                     double times = 1000);
/// Where it is another tensor than the finding's, or the first of all ranks where `anyRank`: says so in the
/// finding, which gets its line and an advice.
void tellWhereItGrew(EvaluationContext& context, Finding& finding, bool anyRank = false);

/// Gradients of parameters as the backward pass gives them: one a parameter, the last that is not clipped.
std::vector<core::TensorId> ownGradients(const core::Graph& graph);

/// "fc1/weight 62 %, fc2/weight 20 %, …": the three largest shares of the squared norm.
std::string largestShares(EvaluationContext& context, core::Rank rank,
                          std::span<const core::TensorId> gradients);

}  // namespace msdbg::watch
