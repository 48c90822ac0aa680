// How a weight changed in one update: the value after it against the value it read. Shared by the conditions
// on changes.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// Outputs of update nodes that are the next value of a trainable parameter.
std::vector<core::TensorId> weightUpdates(const core::Graph& graph);

/// From the recorded row, else from stored values. nullopt, with an entry saying why, when the change is not
/// known or either value holds NaN or Inf; without one between two updates of accumulated gradients, where
/// nothing is to change.
std::optional<core::ChangeStatistics> changeOf(EvaluationContext& context, const Place& place,
                                               const StatisticsRow& row);

/// Both values of an update, as stored: after and before it. An entry `no_value` when either is missing.
struct UpdateValues {
  core::Tensor after, before;
};
std::optional<UpdateValues> storedUpdate(EvaluationContext& context, const Place& place);

/// mean|x-p| / (scale + epsilon) against abs_mean_update_ratio_gt or _lt; scale is mean|p|. In the
/// recommended set a bias is measured on its layer's weight where that is larger, what starts at zero on
/// 1 / sqrt(fan-in), and a scale of zero is `zero_previous`.
class UpdateRatio {
 public:
  UpdateRatio(const core::Graph& graph, const Parameters& parameters, bool recommended);
  void evaluate(EvaluationContext& context, std::string_view parameter) const;

 private:
  double floorOf(EvaluationContext& context, const Place& place) const;

  bool m_recommended;
  RowWalk m_walk;
  std::vector<core::TensorId> m_weights;  // of each bias update's layer, by tensor; invalid for anything else
};

}  // namespace msdbg::watch
