#include "watchpoints/conditions/change.h"

namespace msdbg::watch {
namespace {

class ChangeTooLarge : public Evaluator {
 public:
  ChangeTooLarge(const core::Graph& graph, bool recommended) : m_ratio(graph, recommended) {}
  void evaluate(EvaluationContext& context) override {
    m_ratio.evaluate(context, "abs_mean_update_ratio_gt");
  }

 private:
  UpdateRatio m_ratio;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  return std::make_unique<ChangeTooLarge>(graph, recommended);
}

}  // namespace

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
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
