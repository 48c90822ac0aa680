#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  if (!finite(context, place, row.values)) return;
  evaluateMeasures(context, place, precedence::kVanishing,
                   {{"abs_mean_lt", row.values.meanAbs},
                    {"max_lt", row.values.max},
                    {"min_lt", row.values.min},
                    {"mean_lt", row.values.mean}});
}

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  // The gradient of an activation is legitimately tiny where its units are dead; a parameter's is not.
  const auto tensors = selectTensors(graph, [&](const core::TensorInfo& info) {
    return recommended ? isParameterGradient(graph, info) : isGradient(info);
  });
  return everyRow(RowWalk(graph, tensors, recommended), evaluateRow);
}

}  // namespace

ConditionDef gradientVanishingCondition() {
  ConditionDef def;
  def.id = "gradient_vanishing";
  def.title = "Gradient vanishing";
  def.doc =
      "A gradient is below a threshold: mean|g|, max, min or mean (MindInsight). Recommended: mean|g| < 1e-9 "
      "on the"
      " gradients of parameters.";
  def.advice =
      "Look at the inputs of the operator that makes the gradient: saturated or dead activations before it, a"
      " frozen layer, a loss that no longer depends on it; then initialisation and depth.";
  def.target = Target::kGradient;
  def.parameters = {{"abs_mean_lt", ParameterRange::kAbs, {}, "hit if mean|g| is below"},
                    {"max_lt", ParameterRange::kReal, {}, "hit if the maximum is below"},
                    {"min_lt", ParameterRange::kReal, {}, "hit if the minimum is below"},
                    {"mean_lt", ParameterRange::kReal, {}, "hit if the mean is below"}};
  def.needsParameter = true;
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
