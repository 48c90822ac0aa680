#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

struct Loss {
  core::Iteration iteration;
  double value;
};

/// The losses of a rank, up to the first that is not finite.
std::vector<Loss> finiteLosses(EvaluationContext& context, core::Rank rank, core::TensorId tensor) {
  std::vector<Loss> losses;
  for (core::Iteration iteration : selectedIterations(context, rank)) {
    const Place place{iteration, rank, tensor};
    const StatisticsRow* row = context.source.statistics(rank, iteration, tensor);
    if (!row) {
      missingRow(context, place);
      continue;
    }
    if (!finite(context, place, row->values)) break;
    losses.push_back({iteration, row->values.mean});
  }
  return losses;
}

struct Thresholds {
  std::size_t steps;
  double drop, rise;  // %
};

Thresholds thresholdsOf(const Parameters& parameters) {
  return {static_cast<std::size_t>(parameterOr(parameters, "num_steps", 10)),
          parameterOr(parameters, "diff_percent", 0.1),
          parameterOr(parameters, "increase_threshold_percent", 5)};
}

/// now against before: fell by less than diff_percent, or rose by more than increase_threshold_percent.
/// Returns the fall in %.
void compare(EvaluationContext& context, const Place& place, double before, double now,
             const Thresholds& thresholds, bool riseCounts) {
  ++context.evaluated;
  const double fell = 100 * (before - now) / std::max(std::abs(before), 1e-300);
  const bool rose = -fell > thresholds.rise;
  if (rose ? !riseCounts : fell >= thresholds.drop) return;
  Finding finding = findingAt(context, place, precedence::kOther);
  finding.parameter = rose ? "increase_threshold_percent" : "diff_percent";
  finding.preset = rose ? thresholds.rise : thresholds.drop;
  finding.actual = rose ? -fell : fell;
  finding.detail = "the loss went from " + core::formatShort(before) + " to " + core::formatShort(now);
  context.findings.push_back(std::move(finding));
}

double meanOf(const std::vector<Loss>& losses, std::size_t begin, std::size_t count) {
  double sum = 0;
  for (std::size_t i = begin; i < begin + count; ++i) sum += losses[i].value;
  return sum / static_cast<double>(count);
}

/// Single losses jump from batch to batch: the recommended set compares means, and a rise of a loss that has
/// never fallen is the start of training.
void evaluateWindows(EvaluationContext& context, core::Rank rank, core::TensorId tensor) {
  const Thresholds thresholds = thresholdsOf(context.parameters);
  const std::vector<Loss> losses = finiteLosses(context, rank, tensor);
  const std::size_t n = thresholds.steps;
  bool fallen = false;
  for (std::size_t end = 2 * n; end <= losses.size(); end += 2 * n) {
    const double before = meanOf(losses, end - 2 * n, n), now = meanOf(losses, end - n, n);
    compare(context, {losses[end - 1].iteration, rank, tensor}, before, now, thresholds, fallen);
    fallen |= now < before;
  }
}

void evaluateSteps(EvaluationContext& context, core::Rank rank, core::TensorId tensor) {
  const Thresholds thresholds = thresholdsOf(context.parameters);
  const std::vector<Loss> losses = finiteLosses(context, rank, tensor);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const Place place{losses[i].iteration, rank, tensor};
    if (i < thresholds.steps)
      notEvaluable(context, place, "no_previous");
    else
      compare(context, place, losses[i - thresholds.steps].value, losses[i].value, thresholds, true);
  }
}

void evaluate(EvaluationContext& context) {
  const auto losses = selectTensors(context.source.graph(), [](const core::TensorInfo& info) {
    return info.role == core::TensorRole::kLoss;
  });
  for (core::Rank rank : context.ranks)
    for (core::TensorId tensor : losses)
      context.recommended ? evaluateWindows(context, rank, tensor) : evaluateSteps(context, rank, tensor);
}

std::string validate(const Parameters& parameters) {
  const double steps = parameterOr(parameters, "num_steps", 10);
  return steps == std::floor(steps) && steps <= 1e9 ? "" : "num_steps must be a whole number, 1 to 1e9";
}

}  // namespace

ConditionDef lossNotDecreasingCondition() {
  ConditionDef def;
  def.id = "loss_not_decreasing";
  def.title = "Loss not decreasing";
  def.doc =
      "Against the loss num_steps recorded iterations ago it fell by less than diff_percent %, or rose by "
      "more than"
      " increase_threshold_percent % (SageMaker Debugger). Recommended, as a hint: means of num_steps "
      "against the"
      " num_steps before, every 2 * num_steps; a rise counts only after the loss has fallen once.";
  def.advice = "Look at the learning rate first, then at initialisation, vanishing gradients and the data.";
  def.severity = Severity::kHint;
  def.target = Target::kLoss;
  def.parameters = {
      {"num_steps", ParameterRange::kPos, 10.0, "how many recorded iterations back to compare with"},
      {"diff_percent", ParameterRange::kPct, 0.1, "hit if the loss fell by less than this percentage"},
      {"increase_threshold_percent", ParameterRange::kAbs, 5.0,
       "hit if it rose by more than this percentage"}};
  def.needsPrevious = true;
  def.evaluate = evaluate;
  def.validate = validate;
  return def;
}

}  // namespace msdbg::watch
