#include "watchpoints/conditions/change.h"

#include <algorithm>
#include <cmath>

namespace msdbg::watch {

using core::ChangeStatistics;
using core::TensorId;

std::vector<TensorId> weightUpdates(const core::Graph& graph) {
  return selectTensors(graph, [&](const core::TensorInfo& info) { return isWeightUpdate(graph, info); });
}

std::optional<UpdateValues> storedUpdate(EvaluationContext& context, const Place& place) {
  const TensorId before = context.graph().tensor(place.tensor).updateOf;
  core::Result<core::Tensor> x = context.source.value(place.rank, place.iteration, place.tensor);
  core::Result<core::Tensor> p = context.source.value(place.rank, place.iteration, before);
  if (!x || !p) {
    notEvaluable(context, place, "no_value", (!x ? x : p).error().message());
    return std::nullopt;
  }
  if (x->shape() != p->shape()) {
    notEvaluable(context, place, "shape_changed", p->shape().text() + " became " + x->shape().text());
    return std::nullopt;
  }
  return UpdateValues{std::move(x).value(), std::move(p).value()};
}

/// Where overflows are skipped, an update reads Where(finite, due, 0) also if nothing is accumulated.
static bool isDueAlways(const core::Graph& graph, const core::Node& update) {
  if (update.inputs.empty()) return false;
  const core::TensorInfo& due = graph.tensor(update.inputs.back());
  if (due.isSource()) return false;
  const core::Node& chosen = graph.node(due.producer);
  return chosen.opType == "Where" && chosen.inputs.size() == 3 &&
         graph.tensor(chosen.inputs[1]).role == core::TensorRole::kConstant;
}

/// Accumulated gradients are applied in every `every`-th iteration: the other ones hand the weight on.
static bool isBetweenUpdates(const core::Graph& graph, const Place& place) {
  const core::Node& update = graph.node(graph.tensor(place.tensor).producer);
  const auto found = update.attributes.find("every");
  const auto* every = found == update.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return every && *every > 1 && !isDueAlways(graph, update) && (place.iteration.value + 1) % *every != 0;
}

std::optional<ChangeStatistics> changeOf(EvaluationContext& context, const Place& place,
                                         const StatisticsRow& row) {
  if (isBetweenUpdates(context.source.graph(), place)) return std::nullopt;
  if (!finite(context, place, row.values)) return std::nullopt;
  std::optional<ChangeStatistics> change = row.change;
  if (!change) {
    const std::optional<UpdateValues> values = storedUpdate(context, place);
    if (!values) return std::nullopt;
    change = computeChange(values->after, values->before);
  }
  if (change->skipped == 0) return change;
  const TensorId before = context.graph().tensor(place.tensor).updateOf;
  const StatisticsRow* previous = context.rows.now(place.rank, before);
  notEvaluable(context, place, previous && previous->values.nan == 0 ? "inf" : "nan",
               "in the value before the update");
  return std::nullopt;
}

namespace {

// A bias starts at zero and grows by its own first steps, so a ratio to itself says nothing early in
// training: with a momentum of 0.9 and equal gradients the second step is 1.9 times the first. The layer's
// weights are the scale that a sane step of its bias is small against, and it is there in the first iteration
// too (tests/watchpoints/thresholds.md).
constexpr double kBiasFloor = 1;
// Weights may be drawn small on purpose (the last layer of a policy): their bias is then measured on what is
// usual, mean|w| of a uniform draw within 1 / sqrt(fan-in).
constexpr double kUsual = 0.5;

/// What a parameter that starts at zero grows to, by the field's initialisers: 1 / sqrt(fan-in); a gate to 1.
double sizeToBe(const core::TensorInfo& parameter) {
  const core::Shape& shape = parameter.shape;
  if (!shape.known() || shape.rank() < 2 || shape[0] == 0) return 1;
  return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, shape.elements() / shape[0])));
}

/// A change carried by a single element is a wrong element (a bit flip); a wrong step moves many.
bool singleElement(const ChangeStatistics& change, std::int64_t elements) {
  return elements < 2 || change.maxAbsChange >= 0.9 * static_cast<double>(elements) * change.meanAbsChange;
}

}  // namespace

UpdateRatio::UpdateRatio(const core::Graph& graph, const Parameters& parameters, bool recommended)
    : m_recommended(recommended),
      m_walk(graph, chosenTensors(graph, parameters, weightUpdates(graph)), recommended),
      m_weights(graph.tensors().size()) {
  if (!recommended) return;
  for (const TensorId update : m_walk.tensors())
    m_weights[update.index()] = layerWeight(graph, graph.tensor(update).updateOf);
}

double UpdateRatio::floorOf(EvaluationContext& context, const Place& place) const {
  if (!m_recommended) return 0;
  const core::TensorInfo& parameter = context.graph().tensor(context.graph().tensor(place.tensor).updateOf);
  const TensorId weight = m_weights[place.tensor.index()];
  const StatisticsRow* row = weight.valid() ? context.rows.now(place.rank, weight) : nullptr;
  if (row && row->values.nonFinite() == 0) {
    const core::TensorInfo& layer = context.graph().tensor(weight);
    const double usual =
        layer.shape.rank() == 1 ? 1 : kUsual;  // the gain of a normalisation may start at zero
    return kBiasFloor * std::max(row->values.meanAbs, usual * sizeToBe(layer));
  }
  return mayStartAtZero(parameter) ? sizeToBe(parameter) : 0;
}

void UpdateRatio::evaluate(EvaluationContext& context, std::string_view parameter) const {
  const double epsilon = parameterOr(context.parameters, "epsilon", 1e-9);
  m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
    const std::optional<ChangeStatistics> change = changeOf(context, place, row);
    if (!change) return;
    const double scale = std::max(change->meanAbsPrevious, floorOf(context, place));
    if (context.recommended && scale == 0) return notEvaluable(context, place, "zero_previous");
    const bool single = singleElement(*change, row.values.count);
    evaluateMeasures(context, place, single ? precedence::kSingleChange : precedence::kWholeChange,
                     {{parameter, change->meanAbsChange / (scale + epsilon)}});
  });
}

}  // namespace msdbg::watch
