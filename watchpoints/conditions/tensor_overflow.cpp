#include <algorithm>

#include "watchpoints/conditions/nonfinite.h"
#include "watchpoints/conditions/scaler_skips.h"

namespace msdbg::watch {
namespace {

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  ++context.evaluated;
  const core::TensorStatistics& values = row.values;
  if (values.nonFinite() == 0) return;
  Finding finding = findingAt(context, place, precedence::kSymptom);
  finding.count = values.nonFinite();
  finding.actual = static_cast<double>(finding.count);
  if (!finding.detail.empty()) finding.detail += "; ";
  finding.detail += std::to_string(values.nan) + " NaN, " + std::to_string(values.posInf) + " +Inf, " +
                    std::to_string(values.negInf) + " -Inf of " + std::to_string(values.count);
  context.findings.push_back(std::move(finding));
}

/// Of the recommended set: without the -Inf of masks.
class RecommendedOverflow : public Evaluator {
 public:
  explicit RecommendedOverflow(const core::Graph& graph)
      : m_walk(graph, selectTensors(graph, [](const core::TensorInfo&) { return true; }), false),
        m_nonFinite(graph) {
    m_walk.skipWhatDidNotRun();
    m_walk.askForFlags();
  }

  void evaluate(EvaluationContext& context) override {
    const std::size_t before = context.findings.size();
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      const bool harmless = m_nonFinite.isMeant(place.tensor, row.values);
      if (harmless)
        ++context.evaluated;
      else
        evaluateRow(context, place, row);
    });
    leaveOutHarmless(context, before);
    m_skips.hold(context, before);
  }

 private:
  /// What is beside the loss and gets to no gradient or weight: nonfinite_propagation says where it begins,
  /// as a hint.
  void leaveOutHarmless(EvaluationContext& context, std::size_t before) const {
    for (const core::Rank rank : context.ranks) {
      const auto begin = context.findings.begin() + static_cast<std::ptrdiff_t>(before);
      const auto isHere = [&](const Finding& finding) {
        return finding.rank == rank && m_nonFinite.isBeside(finding.tensor);
      };
      if (std::any_of(begin, context.findings.end(), isHere) && !m_nonFinite.reachesTraining(context, rank))
        context.findings.erase(std::remove_if(begin, context.findings.end(), isHere), context.findings.end());
    }
  }

  RowWalk m_walk;
  NonFinite m_nonFinite;
  ScalerSkips m_skips;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<RecommendedOverflow>(graph);
  const auto all = selectTensors(graph, [](const core::TensorInfo&) { return true; });
  RowWalk walk(graph, chosenTensors(graph, parameters, all), false);
  walk.askForFlags();
  return everyRow(std::move(walk), evaluateRow);
}

}  // namespace

ConditionDef tensorOverflowCondition() {
  ConditionDef def;
  def.id = "tensor_overflow";
  def.title = "Tensor overflow";
  def.effect = Effect::kNonFinite;
  def.doc =
      "A tensor holds NaN or Inf: nan + inf > 0 (MindInsight). Every tensor that the values reach is listed;"
      " nonfinite_propagation names the operator that made the first one.";
  def.advice = "Look at the operator that nonfinite_propagation names, its inputs, and the learning rate.";
  def.parameters = {tensorsParameter()};
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
