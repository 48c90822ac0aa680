#include "watchpoints/conditions/change.h"

namespace msdbg::watch {
namespace {

class ChangeTooSmall : public Evaluator {
 public:
  ChangeTooSmall(const core::Graph& graph, bool recommended) : m_ratio(graph, recommended) {}
  void evaluate(EvaluationContext& context) override {
    m_ratio.evaluate(context, "abs_mean_update_ratio_lt");
  }

 private:
  UpdateRatio m_ratio;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  return std::make_unique<ChangeTooSmall>(graph, recommended);
}

}  // namespace

ConditionDef weightChangeTooSmallCondition() {
  ConditionDef def;
  def.id = "weight_change_too_small";
  def.title = "Weight change too small";
  def.doc =
      "mean|x-p| / (mean|p| + epsilon) is below a threshold, p being the value that the update read "
      "(MindInsight)."
      " A hint in the recommended set.";
  def.advice =
      "Look at the learning rate (too small, or decayed to nothing) and at the gradient that the update "
      "read.";
  def.severity = Severity::kHint;
  def.target = Target::kWeight;
  def.parameters = {{"abs_mean_update_ratio_lt", ParameterRange::kAbs, 1e-4, "hit if the ratio is below"},
                    {"epsilon", ParameterRange::kAbs, 1e-9, "added to the denominator"}};
  def.needsPrevious = true;
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
