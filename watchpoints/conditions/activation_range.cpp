#include <algorithm>
#include <array>
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/activation_preset.h"
#include "watchpoints/conditions/gradient_cause.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

std::optional<ActivationPreset> givenRange(const Parameters& parameters) {
  const std::optional<double> start = numberOf(parameters, "range_start_inclusive"),
                              end = numberOf(parameters, "range_end_inclusive");
  if (!start || !end) return std::nullopt;
  return ActivationPreset{*start, *end};
}

/// 100 * #(start <= x <= end) / n: recorded for the function's own range, else from the stored value.
std::optional<double> percentageInRange(EvaluationContext& context, const Place& place,
                                        const StatisticsRow& row, const ActivationPreset& range) {
  const auto preset = activationPreset(opTypeOf(context.graph(), place.tensor));
  if (row.activation && preset == range) return 100 * row.activation->shareInRange;
  const core::Result<core::Tensor> value = context.source.value(place.rank, place.iteration, place.tensor);
  if (value) return 100 * core::computeActivation(*value, range.start, range.end).shareInRange;
  notEvaluable(context, place, "no_value", value.error().message());
  return std::nullopt;
}

/// The recommended set has one range and one threshold per function.
Parameters recommendedParameters(std::string_view opType) {
  const std::optional<ActivationPreset> range = activationPreset(opType);
  if (!range) return {};
  Parameters parameters{{"range_start_inclusive", range->start}, {"range_end_inclusive", range->end}};
  if (opType == "Relu")
    parameters["range_percentage_gt"] = 99.9;
  else
    parameters["range_percentage_lt"] = 0.1;
  return parameters;
}

/// The part of a loss that is zero where it is satisfied, relu(margin - distance), not of a network: no
/// parameter made its input, none reads it.
bool isHinge(const core::Graph& graph, core::TensorId tensor) {
  if (opTypeOf(graph, tensor) != "Relu" || leadsToParameters(graph, tensor)) return false;
  const core::Node* maker = makerOf(graph, graph.node(graph.tensor(tensor).producer).inputs.front());
  return maker && std::ranges::none_of(maker->inputs, [&](core::TensorId input) {
           return graph.tensor(originOf(graph, input)).role == core::TensorRole::kParameter;
         });
}

/// "0 % of its elements lie in [-1, 1]: it is saturated, and passes hardly any gradient"
std::string shareText(const Parameters& parameters, double percentage, std::string_view parameter,
                      std::string_view opType) {
  const std::optional<ActivationPreset> range = givenRange(parameters);
  const bool zero = opType == "Relu" && range->start <= 0 && range->end == 0;
  return core::formatShort(percentage) + " % of its elements " +
         (zero ? "are 0"
               : "lie in [" + core::formatShort(range->start) + ", " + core::formatShort(range->end) + "]") +
         ": " +
         (parameter == "range_percentage_lt" ? "it is saturated, and passes hardly any gradient"
                                             : "it is silent, and passes no gradient");
}

void evaluateRow(EvaluationContext& context, const Parameters& parameters, const Place& place,
                 const StatisticsRow& row) {
  if (!finite(context, place, row.values)) return;
  const double spread = row.values.max - row.values.min;
  double inRange = std::nan("");  // exceeds nothing
  if (const std::optional<ActivationPreset> range = givenRange(parameters)) {
    const std::optional<double> share = percentageInRange(context, place, row, *range);
    if (!share) return;
    inRange = *share;
  }
  const std::size_t known = context.findings.size();
  evaluateMeasures(context, parameters, place, precedence::kOther,
                   {{"range_percentage_lt", inRange},
                    {"range_percentage_gt", inRange},
                    {"max_min_lt", spread},
                    {"max_min_gt", spread}});
  if (context.findings.size() == known) return;
  Finding& finding = context.findings.back();
  if (finding.parameter.starts_with("range_"))
    finding.detail +=
        (finding.detail.empty() ? "" : "; ") +
        shareText(parameters, inRange, finding.parameter, opTypeOf(context.graph(), place.tensor));
}

class ActivationRange : public Evaluator {
 public:
  ActivationRange(const core::Graph& graph, const Parameters& parameters, bool recommended)
      : m_recommended(recommended),
        m_walk(graph, chosenTensors(graph, parameters, activations(graph, recommended)), recommended) {
    if (!recommended) return;
    for (const std::string_view opType : kPresetTypes)
      m_parameters.emplace(opType, recommendedParameters(opType));
  }

  void evaluate(EvaluationContext& context) override {
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      evaluateRow(
          context,
          m_recommended ? m_parameters.at(opTypeOf(context.graph(), place.tensor)) : context.parameters,
          place, row);
    });
  }

 private:
  static constexpr std::array<std::string_view, 3> kPresetTypes = {"Relu", "Sigmoid", "Tanh"};
  static std::vector<core::TensorId> activations(const core::Graph& graph, bool recommended) {
    return selectTensors(graph, [&](const core::TensorInfo& info) {
      return isActivation(graph, info) &&
             (!recommended ||
              (std::ranges::count(kPresetTypes, opTypeOf(graph, info.id)) > 0 && !isHinge(graph, info.id)));
    });
  }

  bool m_recommended;
  RowWalk m_walk;
  std::map<std::string_view, Parameters, std::less<>> m_parameters;  // by operator type
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  return std::make_unique<ActivationRange>(graph, parameters, recommended);
}

std::string validate(const Parameters& parameters) {
  const std::optional<ActivationPreset> range = givenRange(parameters);
  if (range && range->start > range->end) return "range_start_inclusive is above range_end_inclusive";
  if (!range && (parameters.contains("range_percentage_lt") || parameters.contains("range_percentage_gt")))
    return "range_percentage_lt and range_percentage_gt need range_start_inclusive and range_end_inclusive";
  const bool threshold = parameters.contains("range_percentage_lt") ||
                         parameters.contains("range_percentage_gt") || parameters.contains("max_min_lt") ||
                         parameters.contains("max_min_gt");
  return threshold ? "" : "needs one of range_percentage_lt, range_percentage_gt, max_min_lt, max_min_gt";
}

std::string notOnline(const Parameters& parameters, bool recommended) {
  if (recommended || !givenRange(parameters)) return "";
  return "a range of one's own needs the values; max_min_lt, max_min_gt and activation_range:recommended do "
         "not";
}

}  // namespace

ConditionDef activationRangeCondition() {
  ConditionDef def;
  def.id = "activation_range";
  def.title = "Activation range";
  def.doc =
      "The share of an activation's elements inside a range, 100 * #(start <= x <= end) / n, or its max - "
      "min, against"
      " thresholds (MindInsight). Recommended as hints: Tanh less than 0.1 % in [tanh(-8.8), tanh(8.8)], "
      "Sigmoid less"
      " than 0.1 % in [sigmoid(-16.2), sigmoid(16.2)], Relu more than 99.9 % in [-1, 0], a hinge "
      "of the loss excepted.";
  def.advice =
      "Look at the inputs of the activation: too large pre-activations saturate it, negative ones silence a "
      "Relu;"
      " then initialisation, learning rate and normalisation.";
  def.severity = Severity::kHint;
  def.target = Target::kActivation;
  def.parameters = {
      {"range_start_inclusive", ParameterType::kReal, {}, "start of the range"},
      {"range_end_inclusive", ParameterType::kReal, {}, "end of the range"},
      {"range_percentage_lt", ParameterType::kPct, {}, "hit if less than this percentage lies in the range"},
      {"range_percentage_gt", ParameterType::kPct, {}, "hit if more than this percentage lies in the range"},
      {"max_min_lt", ParameterType::kPos, {}, "hit if max - min is below"},
      {"max_min_gt", ParameterType::kAbs, {}, "hit if max - min is above"},
      tensorsParameter()};
  def.needsParameter = true;
  def.rowsOnly = true;
  def.make = make;
  def.validate = validate;
  def.notOnline = notOnline;
  return def;
}

}  // namespace msdbg::watch
