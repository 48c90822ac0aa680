#include "watchpoints/conditions/change.h"

#include <algorithm>

namespace msdbg::watch {

using core::ChangeStatistics;
using core::TensorId;

std::vector<TensorId> weightUpdates(const core::Graph& graph) {
  return selectTensors(graph, [&](const core::TensorInfo& info) { return isWeightUpdate(graph, info); });
}

std::optional<UpdateValues> storedUpdate(EvaluationContext& context, const Place& place) {
  const TensorId before = context.source.graph().tensor(place.tensor).updateOf;
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

/// Accumulated gradients are applied in every `every`-th iteration: the other ones hand the weight on.
static bool isBetweenUpdates(const core::Graph& graph, const Place& place) {
  const core::Attributes& attributes = graph.node(graph.tensor(place.tensor).producer).attributes;
  const auto found = attributes.find("every");
  const auto* every = found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return every && *every > 1 && (place.iteration.value + 1) % *every != 0;
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
  const TensorId before = context.source.graph().tensor(place.tensor).updateOf;
  const StatisticsRow* previous = context.source.statistics(place.rank, place.iteration, before);
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

/// What the change is measured on; `weight` is that of the bias's layer, invalid for anything else.
double scaleOf(EvaluationContext& context, const Place& place, const ChangeStatistics& change,
               TensorId weight) {
  if (!weight.valid()) return change.meanAbsPrevious;
  const StatisticsRow* row = context.source.statistics(place.rank, place.iteration, weight);
  const double floor = row && row->values.nonFinite() == 0 ? kBiasFloor * row->values.meanAbs : 0;
  return std::max(change.meanAbsPrevious, floor);
}

/// A change carried by a single element is a wrong element (a bit flip); a wrong step moves many.
bool singleElement(const ChangeStatistics& change, std::int64_t elements) {
  return elements < 2 || change.maxAbsChange >= 0.9 * static_cast<double>(elements) * change.meanAbsChange;
}

}  // namespace

void evaluateUpdateRatio(EvaluationContext& context, std::string_view parameter) {
  const double epsilon = parameterOr(context.parameters, "epsilon", 1e-9);
  const core::Graph& graph = context.source.graph();
  std::vector<TensorId> weights(graph.tensors().size());  // of each bias update's layer
  for (TensorId update : weightUpdates(graph))
    if (context.recommended) weights[update.index()] = layerWeight(graph, graph.tensor(update).updateOf);
  forEachRow(context, weightUpdates(graph), [&](const Place& place, const StatisticsRow& row) {
    const std::int64_t elements = row.values.count;
    const std::optional<ChangeStatistics> change = changeOf(context, place, row);
    if (!change) return;
    const double scale = scaleOf(context, place, *change, weights[place.tensor.index()]);
    if (context.recommended && scale == 0) return notEvaluable(context, place, "zero_previous");
    const int rank = singleElement(*change, elements) ? precedence::kSingleChange : precedence::kWholeChange;
    evaluateMeasures(context, place, rank, {{parameter, change->meanAbsChange / (scale + epsilon)}});
  });
}

}  // namespace msdbg::watch
