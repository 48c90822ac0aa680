#include "watchpoints/conditions/out_of_range.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/blame/usual_range.h"

namespace msdbg::watch {

using core::Iteration;
using core::Rank;
using core::TensorId;

namespace {

constexpr double kTimes = 8, kFactor = 2, kFloor = 0.02;
constexpr std::size_t kLeast = 10, kMost = 50, kFew = 5, kFewest = 3;
constexpr double kFar = 100;  // times the largest, of fewer than kLeast

double medianOf(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<Iteration> recordedBefore(const Source& source, Rank rank, Iteration iteration) {
  std::vector<Iteration> before = source.iterations(rank);
  std::erase_if(before, [&](Iteration i) { return !(i < iteration); });
  if (before.size() > kMost) before.erase(before.begin(), before.end() - static_cast<std::ptrdiff_t>(kMost));
  return before;
}

/// The largest |x| of every tensor in each of these iterations: read iteration by iteration.
std::vector<std::vector<double>> magnitudes(EvaluationContext& context, Rank rank,
                                            std::span<const Iteration> iterations) {
  std::vector<std::vector<double>> of(context.graph().tensors().size());
  for (const Iteration iteration : iterations)
    for (const core::TensorInfo& info : context.graph().tensors()) {
      if (!isFloating(info.dtype)) continue;
      const StatisticsRow* row = context.source.statistics(rank, iteration, info.id);
      if (row && row->values.nonFinite() == 0) of[info.id.index()].push_back(largestMagnitude(row->values));
    }
  return of;
}

bool isFar(const std::vector<double>& values, double now) {
  if (values.size() < kLeast) return now > kFar * std::ranges::max(values) && std::ranges::max(values) > 0;
  const Spread spread = spreadOf(values, kFloor);
  return spread.median != 0 && now > spread.limit(kTimes) && now > kFactor * spread.median;
}

}  // namespace

Spread spreadOf(std::vector<double> values, double floor) {
  Spread spread;
  spread.median = medianOf(values);
  for (double& value : values) value = std::abs(value - spread.median);
  spread.mad = std::max(medianOf(values), floor * std::abs(spread.median));
  return spread;
}

namespace {

/// What is read that no iteration before had, back to the first: that has no range to be out of.
void goBackToNew(EvaluationContext& context, Rank rank, const std::vector<std::vector<double>>& usual,
                 Outlier& outlier) {
  const core::Graph& graph = context.graph();
  for (const core::TensorInfo* at = &graph.tensor(outlier.tensor); !at->isSource();) {
    const auto inputs = context.inputs(rank, graph.node(at->producer));
    const auto found = std::ranges::find_if(inputs, [&](TensorId input) {
      const StatisticsRow* row = context.rows.now(rank, input);
      return row && row->values.nonFinite() == 0 && isFloating(graph.tensor(input).dtype) &&
             !graph.tensor(input).isSource() && usual[input.index()].empty();
    });
    if (found == inputs.end()) return;
    outlier.tensor = *found;
    outlier.isNew = true;
    at = &graph.tensor(*found);
  }
}

/// The first tensor in order of which `test` says so, asked with what it reached before and reaches now.
using Test = std::function<bool(const std::vector<double>& before, double now)>;
std::optional<Outlier> firstThat(EvaluationContext& context, Rank rank, Iteration iteration,
                                 std::size_t least, const Test& test) {
  const std::vector<Iteration> before = recordedBefore(context.source, rank, iteration);
  if (before.size() < least) return std::nullopt;
  std::vector<std::vector<double>> usual = magnitudes(context, rank, before);
  std::optional<Outlier> first;
  std::int64_t earliest = 0;
  for (const core::TensorInfo& info : context.graph().tensors()) {
    if (info.role == core::TensorRole::kOptimizerState)
      continue;  // it follows what another iteration put into it
    const StatisticsRow* row = context.rows.now(rank, info.id);
    std::vector<double>& values = usual[info.id.index()];
    if (!row || values.size() < least || row->values.nonFinite() > 0) continue;
    const double now = largestMagnitude(row->values);
    if (!test(values, now)) continue;
    const std::int64_t time = info.isSource() ? -1 : context.step.time(rank, info.producer);
    if (!first || time < earliest) first = {info.id, now, medianOf(values), time}, earliest = time;
  }
  if (first) goBackToNew(context, rank, usual, *first);
  return first;
}

}  // namespace

std::optional<Outlier> firstOutOfRange(EvaluationContext& context, Rank rank, Iteration iteration) {
  return firstThat(context, rank, iteration, kFew, isFar);
}

std::optional<Outlier> suddenOutlier(EvaluationContext& context, Rank rank, Iteration iteration,
                                     double times) {
  return firstThat(context, rank, iteration, kFewest, [times](const std::vector<double>& before, double now) {
    std::vector<double> values = before;
    const double usual = medianOf(values);
    return usual > 0 && now >= times * usual;
  });
}

void tellWhereItGrew(EvaluationContext& context, Finding& finding, bool anyRank) {
  std::optional<Outlier> outlier = suddenOutlier(context, finding.rank, finding.iteration);
  Rank at = finding.rank;
  for (const Rank rank : context.ranks) {  // what one of them puts into an average, all of them read
    if (rank == finding.rank || !anyRank) continue;
    const std::optional<Outlier> other = suddenOutlier(context, rank, finding.iteration);
    if (other && (!outlier || other->time < outlier->time)) outlier = other, at = rank;
  }
  if (!outlier || outlier->tensor == finding.tensor) return;
  const std::string& name = context.graph().tensor(outlier->tensor).name;
  const std::string where = at == finding.rank ? "" : " on rank " + std::to_string(at.value);
  finding.detail += outlier->isNew
                        ? "; it comes of " + name + where + ", which no iteration before has"
                        : "; before it " + name + " reaches " + core::formatShort(outlier->largest) + where +
                              ", usually " + core::formatShort(outlier->usual) +
                              ": it begins there, or in what that reads";
  finding.advice = "Look at what makes " + name + " so large: check --why goes back from there.";
  finding.writtenAt = outlier->tensor;
}

std::vector<TensorId> ownGradients(const core::Graph& graph) {
  std::map<TensorId, TensorId> last;  // by parameter
  for (const core::TensorInfo& info : graph.tensors())
    if (isParameterGradient(graph, info) && !info.isSource() &&
        graph.node(info.producer).phase != core::Phase::kUpdate)
      last[info.gradientOf] = info.id;
  std::vector<TensorId> gradients;
  for (const auto& [parameter, gradient] : last) gradients.push_back(gradient);
  return gradients;
}

std::string largestShares(EvaluationContext& context, Rank rank, std::span<const TensorId> gradients) {
  std::vector<std::pair<double, TensorId>> squares;
  double sum = 0;
  for (const TensorId gradient : gradients)
    if (const StatisticsRow* row = context.rows.now(rank, gradient); row && row->values.nonFinite() == 0) {
      squares.emplace_back(row->values.l2 * row->values.l2, gradient);
      sum += squares.back().first;
    }
  if (sum == 0 || squares.size() < 2) return {};
  std::ranges::stable_sort(squares, std::greater(), &std::pair<double, TensorId>::first);
  std::vector<std::string> texts;
  for (const auto& [square, gradient] : std::span(squares).first(std::min<std::size_t>(3, squares.size())))
    texts.push_back(context.graph().tensor(context.graph().tensor(gradient).gradientOf).name + " " +
                    core::formatShort(std::round(100 * square / sum)) + " %");
  return core::join(texts, ", ");
}

}  // namespace msdbg::watch
