#include <algorithm>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/change.h"
#include "watchpoints/conditions/entry_scale.h"
#include "watchpoints/conditions/kept_gradient.h"
#include "watchpoints/conditions/loss_sum.h"
#include "watchpoints/conditions/out_of_range.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

constexpr std::string_view kParameter = "abs_mean_update_ratio_gt";

class ChangeTooLarge : public Evaluator {
 public:
  ChangeTooLarge(const core::Graph& graph, const Parameters& parameters)
      : m_ratio(graph, parameters, false) {}
  void evaluate(EvaluationContext& context) override { m_ratio.evaluate(context, kParameter); }

 private:
  UpdateRatio m_ratio;
};

/// Data that weights are multiplied with, or that a model is given whose operators are not recorded.
std::vector<core::TensorId> dataOfModel(const core::Graph& graph) {
  std::vector<core::TensorId> data;
  for (const auto& [weight, entries] : entriesByWeight(graph))
    data.insert(data.end(), entries.begin(), entries.end());
  for (const core::Node& node : graph.nodes())
    if (node.opType == "torch.forward")
      std::ranges::copy_if(node.inputs, std::back_inserter(data), [&](core::TensorId input) {
        const core::TensorInfo& info = graph.tensor(input);
        return info.role == core::TensorRole::kInput && isFloating(info.dtype);
      });
  return data;
}

/// Of the recommended set: a step that training recovered from was no fault, so the end of the run decides.
/// Its detail says what the step was made of.
class RecommendedTooLarge : public Evaluator {
 public:
  explicit RecommendedTooLarge(const core::Graph& graph)
      : m_ratio(graph, {}, true),
        m_outcome(graph),
        m_sum(sumOfLoss(graph)),
        m_keptGradients(graph),
        m_data(dataOfModel(graph)) {
    for (ParameterUpdate& update : parameterUpdates(graph)) m_updates.emplace(update.next, std::move(update));
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    const std::size_t before = context.findings.size();
    m_ratio.evaluate(context, kParameter);
    const auto begin = context.findings.begin() + static_cast<std::ptrdiff_t>(before);
    // What a program writes itself (a state that is loaded, a layer that is begun anew, an average over
    // ranks) is no step that was too large.
    context.findings.erase(std::remove_if(begin, context.findings.end(),
                                          [&](const Finding& finding) { return isNoStep(context, finding); }),
                           context.findings.end());
    for (auto finding = begin; finding != context.findings.end(); ++finding) describe(context, *finding);
    if (context
            .online) {  // nobody knows yet whether training recovers: only what hardly anybody recovers from
      context.findings.erase(
          std::remove_if(begin, context.findings.end(),
                         [](const Finding& finding) { return finding.actual < kOnline * finding.preset; }),
          context.findings.end());
      return;
    }
    std::move(begin, context.findings.end(), std::back_inserter(m_pending));
    context.findings.erase(begin, context.findings.end());
    m_keptGradients.evaluate(context);
  }

  void finish(EvaluationContext& context) override {
    for (Finding& finding : m_pending) {
      if (m_outcome.recoveredBeforeNonFinite(finding.iteration)) continue;
      finding.excused = m_outcome.recoveredSince(finding.iteration);
      context.findings.push_back(std::move(finding));
    }
  }

 private:
  static constexpr double kOnline = 10;  // times the threshold: what hardly anybody recovers from

  static bool isNoStep(const EvaluationContext& context, const Finding& finding) {
    const core::TensorInfo& info = context.graph().tensor(finding.tensor);
    if (info.isSource()) return false;
    const core::Node& node = context.graph().node(info.producer);
    if (node.phase != core::Phase::kUpdate) return true;
    // L-BFGS searches for how far to go, and the first steps of Adagrad are the rate itself.
    const bool ownPace = node.opType.ends_with("LBFGS") || node.opType.ends_with("Adagrad");
    return ownPace && finding.actual < kOnline * finding.preset;
  }

  static std::string valueText(std::string_view what, const StatisticsRow* now, const StatisticsRow* before,
                               double core::TensorStatistics::*member) {
    if (!now) return {};
    std::string text = std::string(what) + " " + core::formatShort(now->values.*member);
    if (before && before->values.hash != now->values.hash)
      text += " (" + core::formatShort(before->values.*member) + " in the iteration before)";
    return text;
  }

  /// Adam's steps are as large as the rate; a step of SGD is larger than a weight by the rate alone if the
  /// gradient is not.
  static bool isOfTheRate(EvaluationContext& context, const Finding& finding, const ParameterUpdate& update) {
    if (!update.gradient.valid()) return false;
    const std::optional<Rates> rate = ratesOf(context, finding.rank, update);
    constexpr double kLargeForAnything = 0.5;
    if (isAdam(context.graph().node(update.node)) || (rate && rate->most >= kLargeForAnything)) return true;
    const StatisticsRow* gradient = context.rows.now(finding.rank, update.gradient);
    const StatisticsRow* weight = context.rows.now(finding.rank, update.parameter);
    return gradient && weight && gradient->values.meanAbs <= weight->values.meanAbs;
  }

  static bool jumped(EvaluationContext& context, core::Rank rank, core::TensorId gradient) {
    constexpr double kSudden = 1000;
    if (!gradient.valid() || !context.beforeSelected) return false;
    const StatisticsRow *now = context.rows.now(rank, gradient),
                        *before = context.rows.before(rank, gradient);
    return now && before && before->values.meanAbs > 0 &&
           now->values.meanAbs >= kSudden * before->values.meanAbs;
  }

  void describe(EvaluationContext& context, Finding& finding) {
    const ParameterUpdate& update = m_updates.at(finding.tensor);
    const auto add = [&](std::string_view what, core::TensorId tensor,
                         double core::TensorStatistics::*member) {
      if (!tensor.valid()) return;
      const StatisticsRow* before =
          context.beforeSelected ? context.rows.before(finding.rank, tensor) : nullptr;
      const std::string text = valueText(what, context.rows.now(finding.rank, tensor), before, member);
      if (!text.empty()) finding.detail += (finding.detail.empty() ? "" : ", ") + text;
    };
    add("learning rate", update.rate, &core::TensorStatistics::mean);
    const std::optional<Rates> rates = ratesOf(context, finding.rank, update);
    if (!update.rate.valid() && rates) finding.detail = "learning rate " + core::formatShort(rates->most);
    add("mean|gradient|", update.gradient, &core::TensorStatistics::meanAbs);
    add("mean|weight|", update.parameter, &core::TensorStatistics::meanAbs);
    if (isOfTheRate(context, finding, update))
      finding.writtenAt = rateLine(context.graph(), update);
    else
      blameData(context, finding);
    blameSum(m_sum, finding);
    // Not a step that is too large, but a gradient that something has made so at once. That reads a lot.
    if (jumped(context, finding.rank, update.gradient) && !context.online &&
        !std::exchange(m_toldWhereItGrew, true))
      tellWhereItGrew(context, finding, true);
  }

  /// A gradient is as large as the data that its weight is multiplied with.
  void blameData(EvaluationContext& context, Finding& finding) const {
    constexpr double kLarge = 20;  // mean|x|, as batch_content has it
    for (const core::TensorId data : m_data) {
      const StatisticsRow* row = context.rows.now(finding.rank, data);
      if (!row || row->values.nonFinite() > 0 || row->values.meanAbs <= kLarge) continue;
      finding.detail += "; " + context.graph().tensor(data).name + ", from " +
                        core::formatShort(row->values.min) + " to " + core::formatShort(row->values.max) +
                        ", arrives neither scaled nor normalised, and gradients grow with it";
      finding.advice =
          "Bring the data to about 1 first: divide bytes by 255, subtract the mean and divide by the "
          "deviation. Then look at the learning rate.";
      return;
    }
  }

  UpdateRatio m_ratio;
  Outcome m_outcome;
  std::optional<LossSum> m_sum;
  KeptGradients m_keptGradients;
  std::vector<core::TensorId> m_data;
  bool m_toldWhereItGrew = false;
  std::map<core::TensorId, ParameterUpdate> m_updates;  // by the next value
  std::vector<Finding> m_pending;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<RecommendedTooLarge>(graph);
  return std::make_unique<ChangeTooLarge>(graph, parameters);
}

}  // namespace

ConditionDef weightChangeTooLargeCondition() {
  ConditionDef def;
  def.id = "weight_change_too_large";
  def.title = "Weight change too large";
  def.doc =
      "mean|x-p| / (mean|p| + epsilon) is above a threshold, p being the value that the update read "
      "(MindInsight). Recommended: above 1, a bias being measured on its layer's weight where that is "
      "larger, or on 0.5 / sqrt(fan-in), what starts at zero on 1 / sqrt(fan-in), and only where the loss "
      "did not recover from it; or "
      "its gradient still holds that of the step before, bit for bit.";
  def.advice =
      "Look at the learning rate and the gradient that the update read; then at momentum and gradient "
      "clipping.";
  def.target = Target::kWeight;
  def.parameters = {{"abs_mean_update_ratio_gt", ParameterType::kAbs, 0.1, "hit if the ratio is above"},
                    {"epsilon", ParameterType::kAbs, 1e-9, "added to the denominator"},
                    tensorsParameter()};
  def.needsPrevious = true;
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
