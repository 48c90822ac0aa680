#include "watchpoints/conditions/change.h"

namespace msdbg::watch {

ConditionDef weightChangeTooLargeCondition() {
  ConditionDef def;
  def.id = "weight_change_too_large";
  def.title = "Weight change too large";
  def.doc =
      "mean|x-p| / (mean|p| + epsilon) is above a threshold, p being the value that the update read "
      "(MindInsight)."
      " Recommended: above 1, a bias being measured on its layer's weight where that is larger.";
  def.advice =
      "Look at the learning rate and the gradient that the update read; then at momentum and gradient "
      "clipping.";
  def.target = Target::kWeight;
  def.parameters = {{"abs_mean_update_ratio_gt", ParameterRange::kAbs, 0.1, "hit if the ratio is above"},
                    {"epsilon", ParameterRange::kAbs, 1e-9, "added to the denominator"}};
  def.needsPrevious = true;
  def.evaluate = [](EvaluationContext& context) { evaluateUpdateRatio(context, "abs_mean_update_ratio_gt"); };
  return def;
}

}  // namespace msdbg::watch
