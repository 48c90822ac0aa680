#include <cmath>

#include "watchpoints/conditions/change.h"

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

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  return everyRow(RowWalk(graph, weightUpdates(graph), recommended), evaluateRow);
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
      "read"
      " (MindInsight). Tolerances other than the recorded 1e-5 and 1e-8 need stored values.";
  def.advice =
      "Look at the gradient and the learning rate that the update read; is the weight frozen or left out of "
      "the"
      " optimizer, did the optimizer step run?";
  def.target = Target::kWeight;
  def.parameters = {{"rtol", ParameterRange::kAbs, core::kChangeRtol, "relative tolerance"},
                    {"atol", ParameterRange::kAbs, core::kChangeAtol, "absolute tolerance"}};
  def.needsPrevious = true;
  def.make = make;
  def.notOnline = notOnline;
  return def;
}

}  // namespace msdbg::watch
