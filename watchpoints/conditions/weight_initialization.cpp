#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

void evaluateAt(EvaluationContext& context, const Place& place) {
  const core::TensorInfo& info = context.source.graph().tensor(place.tensor);
  if (context.recommended && isZeroInitialised(info)) return;
  const StatisticsRow* row = context.source.statistics(place.rank, place.iteration, place.tensor);
  if (!row) return missingRow(context, place);
  if (!finite(context, place, row->values)) return;
  evaluateMeasures(context, place, precedence::kOther,
                   {{"zero_percentage_ge", zeroPercentage(row->values)},
                    {"max_gt", row->values.max},
                    {"min_lt", row->values.min}});
}

void evaluate(EvaluationContext& context) {
  const core::Iteration first{0};
  if (!context.selected(first)) return;
  for (core::Rank rank : context.ranks)
    for (core::TensorId tensor : selectTensors(context.source.graph(), isWeight))
      evaluateAt(context, {first, rank, tensor});
}

}  // namespace

ConditionDef weightInitializationCondition() {
  ConditionDef def;
  def.id = "weight_initialization";
  def.title = "Weight initialization";
  def.doc =
      "Before the first update a weight is all zero (zero_percentage_ge), or holds values above max_gt or "
      "below min_lt"
      " (MindInsight). Recommended: 100 % zeros, without parameters that are zero-initialised on purpose.";
  def.advice =
      "Look at the layer's initialiser: equal weights learn equal things, and too large ones overflow.";
  def.target = Target::kWeight;
  def.parameters = {{"zero_percentage_ge", ParameterRange::kPct, 100.0,
                     "hit if this share of the elements, or more, is zero"},
                    {"max_gt", ParameterRange::kReal, {}, "hit if the maximum is above"},
                    {"min_lt", ParameterRange::kReal, {}, "hit if the minimum is below"}};
  def.evaluate = evaluate;
  return def;
}

}  // namespace msdbg::watch
