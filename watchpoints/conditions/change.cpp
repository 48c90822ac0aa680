#include "watchpoints/conditions/change.h"

#include <algorithm>

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

std::optional<ChangeStatistics> changeOf(EvaluationContext& context, const Place& place,
                                         const StatisticsRow& row) {
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

/// What the change is measured on; `weight` is that of the bias's layer, invalid for anything else.
double scaleOf(EvaluationContext& context, const Place& place, const ChangeStatistics& change,
               TensorId weight) {
  if (!weight.valid()) return change.meanAbsPrevious;
  const StatisticsRow* row = context.rows.now(place.rank, weight);
  const double floor = row && row->values.nonFinite() == 0 ? kBiasFloor * row->values.meanAbs : 0;
  return std::max(change.meanAbsPrevious, floor);
}

/// A change carried by a single element is a wrong element (a bit flip); a wrong step moves many.
bool singleElement(const ChangeStatistics& change, std::int64_t elements) {
  return elements < 2 || change.maxAbsChange >= 0.9 * static_cast<double>(elements) * change.meanAbsChange;
}

}  // namespace

UpdateRatio::UpdateRatio(const core::Graph& graph, bool recommended)
    : m_walk(graph, weightUpdates(graph), recommended), m_weights(graph.tensors().size()) {
  if (!recommended) return;
  for (const TensorId update : m_walk.tensors())
    m_weights[update.index()] = layerWeight(graph, graph.tensor(update).updateOf);
}

void UpdateRatio::evaluate(EvaluationContext& context, std::string_view parameter) const {
  const double epsilon = parameterOr(context.parameters, "epsilon", 1e-9);
  m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
    const std::optional<ChangeStatistics> change = changeOf(context, place, row);
    if (!change) return;
    const double scale = scaleOf(context, place, *change, m_weights[place.tensor.index()]);
    if (context.recommended && scale == 0) return notEvaluable(context, place, "zero_previous");
    const bool single = singleElement(*change, row.values.count);
    evaluateMeasures(context, place, single ? precedence::kSingleChange : precedence::kWholeChange,
                     {{parameter, change->meanAbsChange / (scale + epsilon)}});
  });
}

}  // namespace msdbg::watch
