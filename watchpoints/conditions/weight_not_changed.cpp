#include <algorithm>
#include <cmath>
#include <map>

#include "watchpoints/conditions/change.h"
#include "watchpoints/conditions/gradient_cause.h"
#include "watchpoints/conditions/scaler_skips.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

std::int64_t countOutside(const core::Tensor& x, const core::Tensor& p, double rtol, double atol) {
  std::int64_t outside = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i)
    outside += std::abs(x.at(i) - p.at(i)) > atol + rtol * std::abs(p.at(i));
  return outside;
}

bool recordedTolerance(const Parameters& parameters) {
  return parameterOr(parameters, "rtol", core::kChangeRtol) == core::kChangeRtol &&
         parameterOr(parameters, "atol", core::kChangeAtol) == core::kChangeAtol;
}

/// How many elements changed by more than the tolerance; recorded for the default one, else counted in stored
/// values.
std::optional<std::int64_t> changedElements(EvaluationContext& context, const Place& place,
                                            const StatisticsRow& row) {
  const double rtol = parameterOr(context.parameters, "rtol", core::kChangeRtol);
  const double atol = parameterOr(context.parameters, "atol", core::kChangeAtol);
  const std::optional<core::ChangeStatistics> change = changeOf(context, place, row);
  if (!change) return std::nullopt;
  if (change->maxAbsChange == 0) return 0;
  if (recordedTolerance(context.parameters)) return change->outsideTolerance;
  const std::optional<UpdateValues> values = storedUpdate(context, place);
  if (!values) return std::nullopt;
  return countOutside(values->after, values->before, rtol, atol);
}

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  const std::optional<std::int64_t> changed = changedElements(context, place, row);
  if (!changed) return;
  ++context.evaluated;
  if (*changed > 0) return;
  Finding finding = findingAt(context, place, precedence::kNotChanged);
  finding.parameter = "rtol";
  finding.preset = parameterOr(context.parameters, "rtol", core::kChangeRtol);
  finding.count = row.values.count;
  finding.detail = "no element changed by more than atol + rtol * |previous|";
  context.findings.push_back(std::move(finding));
}

/// Of the recommended set: an update that left every bit as it was, although the gradient and the rate that
/// it read had to change some. A rate of zero in every iteration is told once, at the end.
class RecommendedNotChanged : public Evaluator {
 public:
  explicit RecommendedNotChanged(const core::Graph& graph) : m_walk(graph, weightUpdates(graph), true) {
    for (ParameterUpdate& update : parameterUpdates(graph)) m_updates.emplace(update.next, std::move(update));
  }

  void evaluate(EvaluationContext& context) override {
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      const std::optional<core::ChangeStatistics> change = changeOf(context, place, row);
      if (!change) return;
      ++context.evaluated;
      const ParameterUpdate& update = m_updates.at(place.tensor);
      const std::optional<Rates> rates = ratesOf(context, place.rank, update);
      Still& still = m_still[{place.rank, place.tensor}];
      still.rateIsZero = still.rateIsZero && rates && rates->most == 0;
      if (still.iterations++ == 0) still.first = standing(context, place, row.values.count);
      still.lost += change->maxAbsChange == 0 && isRoundedAway(context, place.rank, update, rates);
      if (change->maxAbsChange == 0 && mustChange(context, place.rank, update))
        context.findings.push_back(standing(context, place, row.values.count));
    });
  }

  void finish(EvaluationContext& context) override {
    const auto isOff = [](const auto& each) { return each.second.rateIsZero && each.second.iterations > 1; };
    if (m_still.empty()) return;
    addRoundedAway(context);
    const bool all = std::ranges::all_of(m_still, isOff);
    for (auto& [place, still] : m_still) {
      if (!isOff(std::pair(place, still))) continue;
      Finding& finding = still.first;
      finding.detail = all ? "the learning rate is 0 in every recorded iteration: nothing is learnt"
                           : "its learning rate is 0 in every recorded iteration, that of others is not";
      finding.advice =
          "Look at what sets the learning rate: what the optimizer was given, or a schedule that multiplies "
          "by 0.";
      const ParameterUpdate& update = m_updates.at(finding.tensor);
      finding.writtenAt = update.rate;
      if (groupFactor(context.graph(), update) == 0) {
        finding.detail = "the lrFactor of its group is 0: no step changes it";
        finding.advice =
            "Give the group another factor; if the parameter is meant to stand still, freeze() it.";
      }
      context.findings.push_back(std::move(finding));
      if (all) return;  // one says it for all
    }
  }

 private:
  static constexpr int kEnough = 5;  // iterations

  /// Of 16 bits: the step that its gradient asks for is less than what tells two numbers apart.
  static bool isRoundedAway(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update,
                            const std::optional<Rates>& rates) {
    const core::DType dtype = context.graph().tensor(update.parameter).dtype;
    if (dtype != core::DType::BFloat16 && dtype != core::DType::Float16) return false;
    const core::TensorStatistics* gradient = statisticsOf(context, rank, update.gradient);
    return gradient && gradient->zero < gradient->count && rates && rates->least > 0 &&
           !isRoundingNoise(context, rank, update.gradient);
  }

  /// Weights of 16 bits that no step ever moved: one finding for all.
  void addRoundedAway(EvaluationContext& context) {
    const auto isLost = [](const auto& each) {
      return each.second.iterations >= kEnough && each.second.lost == each.second.iterations;
    };
    const auto lost = std::ranges::count_if(m_still, isLost);
    const auto first = std::ranges::find_if(m_still, isLost);
    if (first == m_still.end()) return;
    Finding& finding = first->second.first;
    const core::TensorInfo& info = context.graph().tensor(finding.tensor);
    finding.detail = "not one bit changed in " + std::to_string(first->second.iterations) +
                     " iterations, though its gradient and the learning rate are not zero: each step is less "
                     "than what tells two numbers of " +
                     std::string(core::dtypeName(info.dtype)) + " apart, and is rounded away";
    if (lost > 1) finding.detail += "; so it is with " + std::to_string(lost - 1) + " more";
    finding.advice =
        "Keep the parameters in float32 and compute in 16 bits under autocast, or use an optimizer with "
        "float32 copies or stochastic rounding.";
    context.findings.push_back(std::move(finding));
  }

  static Finding standing(EvaluationContext& context, const Place& place, std::int64_t elements) {
    Finding finding = findingAt(context, place, precedence::kNotChanged);
    finding.count = elements;
    finding.detail = "not one bit changed, though its gradient and the learning rate are not zero";
    finding.advice =
        "Look at the size of the gradient, and at what is between the step and the weight: a step that was "
        "skipped, a copy that was updated instead, a value that is put back after the step.";
    return finding;
  }

  static const core::TensorStatistics* statisticsOf(EvaluationContext& context, core::Rank rank,
                                                    core::TensorId tensor) {
    const StatisticsRow* row = tensor.valid() ? context.rows.now(rank, tensor) : nullptr;
    return row && row->values.nonFinite() == 0 ? &row->values : nullptr;
  }

  static double largest(const core::TensorStatistics& values) {
    return std::max(std::abs(values.min), std::abs(values.max));
  }

  /// Whether the step of some element is above the rounding of the largest one. Not known: it must.
  static bool mustChange(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update) {
    if (stepIsSkipped(context, rank)) return false;
    const core::TensorStatistics* gradient = statisticsOf(context, rank, update.gradient);
    if (gradient && gradient->zero == gradient->count) return false;  // the gradient's own finding
    if (update.gradient.valid() && isRoundingNoise(context, rank, update.gradient)) return false;
    const std::optional<Rates> rate = ratesOf(context, rank, update);
    if (rate && rate->most == 0) return false;
    const core::TensorStatistics* before = statisticsOf(context, rank, update.parameter);
    if (!gradient || !rate || !before) return true;
    return stepOf(context, rank, update, rate->least, *gradient) >
           rounding(context, update) * largest(*before);
  }

  /// A lower bound of the largest step, by the optimizer's own states.
  static double stepOf(EvaluationContext& context, core::Rank rank, const ParameterUpdate& update,
                       double rate, const core::TensorStatistics& gradient) {
    const auto state = [&](std::size_t i) {
      return i < update.nextStates.size() ? statisticsOf(context, rank, update.nextStates[i]) : nullptr;
    };
    const core::TensorStatistics *first = state(0), *second = state(1);
    const core::Node& node = context.graph().node(update.node);
    if (!isAdam(node) && !isSgd(node)) return 0;  // of others no bound is known
    if (first && second) return rate * largest(*first) / (std::sqrt(largest(*second)) + 1e-8);
    return rate * largest(first ? *first : gradient);
  }

  /// Two roundings of the parameter's dtype: 2.4e-7 of a float32.
  static double rounding(EvaluationContext& context, const ParameterUpdate& update) {
    return 2 * core::floatLimits(context.graph().tensor(update.parameter).dtype).epsilon;
  }

  RowWalk m_walk;
  std::map<core::TensorId, ParameterUpdate> m_updates;  // by the next value
  struct Still {
    Finding first;  // of the first iteration
    bool rateIsZero = true;
    int iterations = 0, lost = 0;  // lost: its gradient was something, and no element moved
  };
  std::map<std::pair<core::Rank, core::TensorId>, Still> m_still;  // by the next value
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<RecommendedNotChanged>(graph);
  return everyRow(RowWalk(graph, chosenTensors(graph, parameters, weightUpdates(graph)), false), evaluateRow);
}

std::string notOnline(const Parameters& parameters, bool) {
  return recordedTolerance(parameters) ? "" : "tolerances other than the recorded ones need the values";
}

}  // namespace

ConditionDef weightNotChangedCondition() {
  ConditionDef def;
  def.id = "weight_not_changed";
  def.title = "Weight not changed";
  def.doc =
      "An update left a weight as it was: all |x-p| <= atol + rtol * |p|, p being the value that the update "
      "read (MindInsight). Tolerances other than the recorded 1e-5 and 1e-8 need stored values. "
      "Recommended: not one bit changed, although the gradient and the learning rate that the update read "
      "had to change some; or none ever did of a parameter of 16 bits, which rounds each step away; or the "
      "learning rate is 0 in every iteration.";
  def.advice =
      "Look at the gradient and the learning rate that the update read; is the weight frozen or left out of "
      "the optimizer, did the optimizer step run?";
  def.target = Target::kWeight;
  def.effect = Effect::kSilent;
  def.parameters = {{"rtol", ParameterType::kAbs, core::kChangeRtol, "relative tolerance"},
                    {"atol", ParameterType::kAbs, core::kChangeAtol, "absolute tolerance"},
                    tensorsParameter()};
  def.needsPrevious = true;
  def.rowsOnly = true;
  def.make = make;
  def.notOnline = notOnline;
  return def;
}

}  // namespace msdbg::watch
