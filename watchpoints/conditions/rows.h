// What conditions share: walking over recorded rows, comparing against thresholds, saying why there is no
// answer. The caller's EvaluationContext collects everything; used from one thread.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>

#include "watchpoints/condition.h"
#include "watchpoints/conditions/targets.h"

namespace msdbg::watch {

struct Place {
  core::Iteration iteration;
  core::Rank rank;
  core::TensorId tensor;
};

/// What this condition keeps from one evaluation to the next; made by the first that asks.
template <typename T>
T& remembered(EvaluationContext& context) {
  if (!context.memory.has_value()) context.memory.emplace<T>();
  return *std::any_cast<T>(&context.memory);
}

/// Recorded and selected iterations of a rank.
std::vector<core::Iteration> selectedIterations(const EvaluationContext& context, core::Rank rank);
/// Those of any of the source's ranks, ascending.
std::vector<core::Iteration> selectedIterations(const EvaluationContext& context);

/// Calls f for every recorded row of the tensors on the selected ranks and iterations, iteration by
/// iteration. A missing row is an entry `no_value`. A parameter or state whose last update is itself recorded
/// and selected is left out: what is wrong with it is wrong in that update's output. Stops when cancelled.
void forEachRow(EvaluationContext& context, std::span<const core::TensorId> tensors,
                const std::function<void(const Place&, const StatisticsRow&)>& f);

/// A finding with its place filled in; for a parameter or state its detail says where the value came from.
Finding findingAt(const EvaluationContext& context, const Place& place, int precedence);
void notEvaluable(EvaluationContext& context, const Place& place, std::string_view reason,
                  std::string detail = {});
/// The entry for a row that Source::statistics() has just not given.
void missingRow(EvaluationContext& context, const Place& place);
/// False, with an entry `nan` or `inf`, when the tensor holds NaN or Inf.
bool finite(EvaluationContext& context, const Place& place, const core::TensorStatistics& values);

/// What a threshold parameter is compared with. The suffix of its name says how: _gt, _lt, _ge, _le.
struct Measure {
  std::string_view parameter;
  double actual;
};
/// The first measure whose parameter was given and is exceeded.
struct Exceeded {
  std::string_view parameter;
  double preset, actual;
};
std::optional<Exceeded> exceeded(const Parameters& parameters, std::initializer_list<Measure> measures);
/// Counts the place as evaluated and adds a finding if any measure exceeds its parameter.
void evaluateMeasures(EvaluationContext& context, const Place& place, int precedence,
                      std::initializer_list<Measure> measures);

/// 100 * zeros / count.
double zeroPercentage(const core::TensorStatistics& values);
double parameterOr(const Parameters& parameters, std::string_view name, double fallback);

// Which condition explains a place where several fire (less is the cause).
namespace precedence {
inline constexpr int kFailure = 5;  // the node that could not be computed at all
inline constexpr int kNonfinite = 10;
inline constexpr int kNotChanged = 20, kAllZero = 21, kVanishing = 22, kDeadRelu = 23;
inline constexpr int kWholeChange = 25;  // every element changed too much: a wrong step, not a wrong element
inline constexpr int kDivergence = 30, kCollective = 31;
inline constexpr int kSingleChange = 40;
inline constexpr int kOther = 50, kSymptom = 60;
}  // namespace precedence

}  // namespace msdbg::watch
