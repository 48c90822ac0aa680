#include "watchpoints/conditions/rows.h"

#include <algorithm>
#include <set>

namespace msdbg::watch {

using core::Iteration;
using core::Rank;
using core::TensorId;
using core::TensorInfo;

std::vector<Iteration> selectedIterations(const EvaluationContext& context, Rank rank) {
  std::vector<Iteration> chosen = context.source.iterations(rank);
  std::erase_if(chosen, [&](Iteration k) { return !context.selected(k); });
  return chosen;
}

std::vector<Iteration> selectedIterations(const EvaluationContext& context) {
  std::set<Iteration> all;
  for (Rank rank : context.source.ranks()) {
    const std::vector<Iteration> own = selectedIterations(context, rank);
    all.insert(own.begin(), own.end());
  }
  return {all.begin(), all.end()};
}

namespace {

/// Whether a wrong value of this source was already wrong as the output of an update that is looked at.
bool causeIsEarlier(EvaluationContext& context, const Place& place, TensorId update) {
  const Iteration before(place.iteration.value - 1);
  return update.valid() && before.valid() && context.selected(before) &&
         context.source.statistics(place.rank, before, update) != nullptr;
}

}  // namespace

void forEachRow(EvaluationContext& context, std::span<const TensorId> tensors,
                const std::function<void(const Place&, const StatisticsRow&)>& f) {
  const std::vector<TensorId> updates = updatesByParameter(context.source.graph());
  double done = 0;
  for (Rank rank : context.ranks) {
    const std::vector<Iteration> iterations = selectedIterations(context, rank);
    for (Iteration iteration : iterations) {
      if (context.cancel.cancelled()) return;
      for (TensorId tensor : tensors) {
        const Place place{iteration, rank, tensor};
        if (causeIsEarlier(context, place, updates[tensor.index()])) continue;
        if (const StatisticsRow* row = context.source.statistics(rank, iteration, tensor))
          f(place, *row);
        else
          missingRow(context, place);
      }
      done += 1.0 / static_cast<double>(iterations.size() * context.ranks.size());
      if (context.progress) context.progress(done);
    }
  }
}

Finding findingAt(const EvaluationContext& context, const Place& place, int precedence) {
  const TensorInfo& info = context.source.graph().tensor(place.tensor);
  Finding finding;
  finding.iteration = place.iteration;
  finding.rank = place.rank;
  finding.node = info.producer;
  finding.tensor = place.tensor;
  finding.precedence = precedence;
  const bool updated =
      info.role == core::TensorRole::kParameter || info.role == core::TensorRole::kOptimizerState;
  if (updated && place.iteration.value > 0)
    finding.detail = "so when the iteration began: the update of iteration " +
                     std::to_string(place.iteration.value - 1) + " is not recorded or not selected";
  return finding;
}

void notEvaluable(EvaluationContext& context, const Place& place, std::string_view reason,
                  std::string detail) {
  context.notEvaluable.push_back(
      {{}, std::string(reason), place.iteration, place.rank, place.tensor, std::move(detail), 1});
}

void missingRow(EvaluationContext& context, const Place& place) {
  notEvaluable(context, place, context.source.missingReason(), "no statistics of it can be read");
}

bool finite(EvaluationContext& context, const Place& place, const core::TensorStatistics& values) {
  if (values.nonFinite() == 0) return true;
  notEvaluable(context, place, values.nan > 0 ? "nan" : "inf");
  return false;
}

namespace {

bool compares(std::string_view parameter, double actual, double preset) {
  if (parameter.ends_with("_gt")) return actual > preset;
  if (parameter.ends_with("_lt")) return actual < preset;
  if (parameter.ends_with("_ge")) return actual >= preset;
  return actual <= preset;
}

}  // namespace

std::optional<Exceeded> exceeded(const Parameters& parameters, std::initializer_list<Measure> measures) {
  for (const Measure& measure : measures) {
    const auto given = parameters.find(measure.parameter);
    if (given != parameters.end() && compares(measure.parameter, measure.actual, given->second))
      return Exceeded{measure.parameter, given->second, measure.actual};
  }
  return std::nullopt;
}

void evaluateMeasures(EvaluationContext& context, const Place& place, int precedence,
                      std::initializer_list<Measure> measures) {
  ++context.evaluated;
  const std::optional<Exceeded> hit = exceeded(context.parameters, measures);
  if (!hit) return;
  Finding finding = findingAt(context, place, precedence);
  finding.parameter = hit->parameter;
  finding.preset = hit->preset;
  finding.actual = hit->actual;
  context.findings.push_back(std::move(finding));
}

double zeroPercentage(const core::TensorStatistics& values) {
  return values.count == 0 ? 0 : 100.0 * static_cast<double>(values.zero) / static_cast<double>(values.count);
}

double parameterOr(const Parameters& parameters, std::string_view name, double fallback) {
  const auto given = parameters.find(name);
  return given == parameters.end() ? fallback : given->second;
}

}  // namespace msdbg::watch
