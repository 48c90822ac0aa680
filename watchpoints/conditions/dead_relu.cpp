#include <map>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

constexpr double kRecordedInactivity = 1;  // %, as core::ActivationStatistics counts

// A layer has died when hardly a unit is left. The plain threshold of 50 % is also crossed, slowly, by wide
// layers that train well; those are hints.
constexpr double kDiedPercentage = 99;

/// Percentage of units that are active in less than `inactivity` % of their elements. A unit is dimension 1
/// of [N, C, ...], as in core::ActivationStatistics.
double deadUnits(const core::Tensor& x, double inactivity) {
  const core::Shape& shape = x.shape();
  const std::int64_t units = shape.rank() > 1 ? shape[1] : 1;
  std::int64_t inner = 1;
  for (std::size_t i = 2; i < shape.rank(); ++i) inner *= shape[i];
  std::vector<std::int64_t> active(static_cast<std::size_t>(units));
  for (std::int64_t i = 0; i < x.elements(); ++i)
    active[static_cast<std::size_t>(i / inner % units)] += x.at(i) > 0;
  const double perUnit = static_cast<double>(x.elements()) / static_cast<double>(units);
  double dead = 0;
  for (std::int64_t n : active) dead += 100.0 * static_cast<double>(n) < inactivity * perUnit;
  return 100 * dead / static_cast<double>(units);
}

std::optional<double> deadPercentage(EvaluationContext& context, const Place& place,
                                     const StatisticsRow& row) {
  const double inactivity = parameterOr(context.parameters, "threshold_inactivity", kRecordedInactivity);
  if (row.activation && inactivity == kRecordedInactivity) return 100 * row.activation->shareDeadUnits;
  const core::Result<core::Tensor> value = context.source.value(place.rank, place.iteration, place.tensor);
  if (value) return value->elements() == 0 ? 0 : deadUnits(*value, inactivity);
  notEvaluable(context, place, "no_value", value.error().message());
  return std::nullopt;
}

/// The recommended set's severity: a fault where the layer was alive in an earlier iteration and is dead now.
void classify(Finding& finding, std::optional<core::Iteration> alive) {
  if (!alive) {
    finding.severity = Severity::kHint;
    finding.detail = "dead from the first recorded iteration";
  } else if (finding.actual < kDiedPercentage) {
    finding.severity = Severity::kHint;
    finding.detail = "a part of the layer is dead";
  } else {
    finding.severity = Severity::kFault;
    finding.detail = "the layer was alive in iteration " + std::to_string(alive->value) + " and has died";
  }
}

class DeadRelu : public Evaluator {
 public:
  explicit DeadRelu(RowWalk walk) : m_walk(std::move(walk)) {}

  void evaluate(EvaluationContext& context) override {
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      if (!finite(context, place, row.values)) return;
      if (const std::optional<double> dead = deadPercentage(context, place, row))
        judge(context, place, *dead);
    });
  }

 private:
  void judge(EvaluationContext& context, const Place& place, double dead) {
    const double threshold = parameterOr(context.parameters, "threshold_layer", 50);
    ++context.evaluated;
    const std::pair layer(place.rank, place.tensor);
    if (dead <= threshold) {
      m_alive[layer] = place.iteration;
      return;
    }
    Finding finding = findingAt(context, place, precedence::kDeadRelu);
    finding.parameter = "threshold_layer";
    finding.preset = threshold;
    finding.actual = dead;
    const auto last = m_alive.find(layer);
    if (context.recommended)
      classify(finding, last == m_alive.end() ? std::nullopt : std::optional(last->second));
    context.findings.push_back(std::move(finding));
  }

  RowWalk m_walk;
  std::map<std::pair<core::Rank, core::TensorId>, core::Iteration> m_alive;  // last
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters&, bool recommended) {
  const auto tensors = selectTensors(graph, [&](const core::TensorInfo& info) {
    return isActivation(graph, info) && opTypeOf(graph, info.id) == "Relu";
  });
  return std::make_unique<DeadRelu>(RowWalk(graph, tensors, recommended));
}

std::string notOnline(const Parameters& parameters, bool) {
  if (parameterOr(parameters, "threshold_inactivity", kRecordedInactivity) == kRecordedInactivity) return "";
  return "a threshold_inactivity other than the recorded 1 % needs the values";
}

}  // namespace

ConditionDef deadReluCondition() {
  ConditionDef def;
  def.id = "dead_relu";
  def.title = "Dead Relu";
  def.doc =
      "A unit (channel) is dead if it is active in less than threshold_inactivity % of its elements; hit if "
      "more than"
      " threshold_layer % of a layer's units are dead (SageMaker Debugger). Recommended: a fault only where "
      "a layer"
      " was alive and has died (over 99 % dead); else a hint.";
  def.advice =
      "Look at the bias and the weights that feed the Relu, and at their last update: too large a learning "
      "rate or a"
      " large negative bias silences a layer for good.";
  def.target = Target::kActivation;
  def.parameters = {{"threshold_inactivity", ParameterRange::kPct, kRecordedInactivity,
                     "a unit active in less than this percentage is dead"},
                    {"threshold_layer", ParameterRange::kPct, 50.0,
                     "hit if more than this percentage of the units is dead"}};
  def.make = make;
  def.notOnline = notOnline;
  return def;
}

}  // namespace msdbg::watch
