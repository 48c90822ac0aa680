#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  if (context.recommended && isZeroInitialised(context.graph().tensor(place.tensor))) return;
  if (!finite(context, place, row.values)) return;
  evaluateMeasures(context, place, precedence::kOther,
                   {{"zero_percentage_ge", zeroPercentage(row.values)},
                    {"max_gt", row.values.max},
                    {"min_lt", row.values.min}});
}

class WeightInitialization : public Evaluator {
 public:
  WeightInitialization(const core::Graph& graph, bool recommended)
      : m_walk(graph, selectTensors(graph, isWeight), recommended) {}
  void evaluate(EvaluationContext& context) override {
    if (context.iteration.value > 0) return;
    m_seen = true;
    m_walk.forEach(context,
                   [&](const Place& place, const StatisticsRow& row) { evaluateRow(context, place, row); });
  }

  void finish(EvaluationContext& context) override {
    if (m_seen) return;
    for (const core::Rank rank : context.allRanks)
      for (const core::TensorId weight : m_walk.tensors())
        notEvaluable(context, {core::Iteration(0), rank, weight}, "no_value",
                     "iteration 0 is not recorded or not selected");
  }

 private:
  RowWalk m_walk;
  bool m_seen = false;  // iteration 0
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  return std::make_unique<WeightInitialization>(graph, recommended);
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
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
