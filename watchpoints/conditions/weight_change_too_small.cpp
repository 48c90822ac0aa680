#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/change.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

class ChangeTooSmall : public Evaluator {
 public:
  explicit ChangeTooSmall(const core::Graph& graph) : m_ratio(graph, false) {}
  void evaluate(EvaluationContext& context) override {
    m_ratio.evaluate(context, "abs_mean_update_ratio_lt");
  }

 private:
  UpdateRatio m_ratio;
};

/// Of the recommended set, one hint a run: no weight moved by as much as a millionth of itself in any step,
/// though the gradients are not zero. A single slow weight, or a slow start, is nothing.
class NothingMoves : public Evaluator {
 public:
  explicit NothingMoves(const core::Graph& graph) : m_walk(graph, weightUpdates(graph), true) {
    for (const ParameterUpdate& update : parameterUpdates(graph)) m_rates.emplace(update.next, update.rate);
  }

  void evaluate(EvaluationContext& context) override {
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      const std::optional<core::ChangeStatistics> change = changeOf(context, place, row);
      if (!change || change->meanAbsPrevious == 0) return;
      ++context.evaluated;
      const double ratio = change->meanAbsChange / change->meanAbsPrevious;
      if (m_most && ratio <= m_most->actual) return;
      m_most = findingAt(context, place, precedence::kOther);
      m_most->parameter = "abs_mean_update_ratio_lt";
      m_most->preset = kLeast;
      m_most->actual = ratio;
      const core::TensorId rate = m_rates.at(place.tensor);
      const StatisticsRow* at = rate.valid() ? context.rows.now(place.rank, rate) : nullptr;
      m_most->detail = "no weight moved by more than this in one step" +
                       (at ? "; the learning rate is " + core::formatShort(at->values.mean) : "");
    });
    ++m_iterations;
  }

  void finish(EvaluationContext& context) override {
    if (m_most && m_iterations >= 3 && m_most->actual > 0 && m_most->actual < kLeast)
      context.findings.push_back(std::move(*m_most));
  }

 private:
  static constexpr double kLeast = 1e-6;
  RowWalk m_walk;
  std::map<core::TensorId, core::TensorId> m_rates;  // by the next value
  std::optional<Finding> m_most;                     // the largest ratio of the run
  int m_iterations = 0;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  if (recommended) return std::make_unique<NothingMoves>(graph);
  return std::make_unique<ChangeTooSmall>(graph);
}

}  // namespace

ConditionDef weightChangeTooSmallCondition() {
  ConditionDef def;
  def.id = "weight_change_too_small";
  def.title = "Weight change too small";
  def.doc =
      "mean|x-p| / (mean|p| + epsilon) is below a threshold, p being the value that the update read "
      "(MindInsight)."
      " Recommended, as one hint a run: no weight ever moved by a millionth of itself.";
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
