#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

/// Weights (as parameters and as the outputs of their updates) and their gradients. Gradients of activations
/// are left out: where a layer is dead they are zero for a reason that dead_relu names.
bool recommendedTarget(const core::Graph& graph, const core::TensorInfo& info) {
  return isWeight(info) || isWeightUpdate(graph, info) || isParameterGradient(graph, info);
}

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  const core::TensorInfo& info = context.graph().tensor(place.tensor);
  const bool notUpdatedYet = info.isSource() && place.iteration.value == 0;
  if (context.recommended && notUpdatedYet && isZeroInitialised(info)) return;
  if (!finite(context, place, row.values)) return;
  evaluateMeasures(context, place, precedence::kAllZero,
                   {{"zero_percentage_ge", zeroPercentage(row.values)}});
}

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  const auto tensors = selectTensors(
      graph, [&](const core::TensorInfo& info) { return !recommended || recommendedTarget(graph, info); });
  return everyRow(RowWalk(graph, tensors, recommended), evaluateRow);
}

}  // namespace

ConditionDef tensorAllZeroCondition() {
  ConditionDef def;
  def.id = "tensor_all_zero";
  def.title = "Tensor all zero";
  def.doc =
      "100 * zeros / n reaches a threshold (MindInsight). Recommended: on weights and on gradients of "
      "parameters only,"
      " without what is zero-initialised and not yet updated.";
  def.advice =
      "For a gradient: is the layer cut off from the loss, dead, or frozen? For a weight: look at its update "
      "and"
      " its initialisation.";
  def.parameters = {{"zero_percentage_ge", ParameterRange::kPct, 100.0,
                     "hit if this share of the elements, or more, is zero"}};
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
