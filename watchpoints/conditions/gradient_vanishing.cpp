#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/contraction.h"
#include "watchpoints/conditions/gradient_cause.h"
#include "watchpoints/conditions/initial_size.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/scaler_skips.h"

namespace msdbg::watch {
namespace {

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  if (!finite(context, place, row.values)) return;
  evaluateMeasures(context, place, precedence::kVanishing,
                   {{"abs_mean_lt", row.values.meanAbs},
                    {"max_lt", row.values.max},
                    {"min_lt", row.values.min},
                    {"mean_lt", row.values.mean}});
}

/// Of parameters, before they are clipped: what clipping leaves is small beside those that are not clipped.
/// Of a loss that the engine scales, what is left without the scale.
std::vector<core::TensorId> ownGradients(const core::Graph& graph) {
  const bool scaled = graph.findTensor("gradients_finite").has_value();
  return selectTensors(graph, [&](const core::TensorInfo& info) {
    if (!isParameterGradient(graph, info)) return false;
    const bool inUpdate = graph.node(info.producer).phase == core::Phase::kUpdate;
    return scaled ? inUpdate && info.alias.starts_with("grad(") : !inUpdate;
  });
}

/// Of the recommended set: small against the largest gradient of the iteration, too (what has converged is
/// small everywhere), in kStreak recorded iterations in a row, and neither zero (tensor_all_zero's, unless a
/// saturated activation makes it so) nor a residue of rounding.
class RecommendedVanishing : public Evaluator {
 public:
  explicit RecommendedVanishing(const core::Graph& graph)
      : m_walk(graph, ownGradients(graph), true), m_outcome(graph), m_squashing(squashingBehind(graph)) {}

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    m_blocked.clear();
    for (const core::Rank rank : context.ranks) m_largest[rank] = largest(context, rank);
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      if (stepIsSkipped(context, place.rank) || !finite(context, place, row.values)) return;
      ++context.evaluated;
      Streak& streak = m_streaks[{place.rank, place.tensor}];
      if (row.values.count > 0 && row.values.zero == row.values.count) lookBehindZero(context, place);
      if (isStarved(context, place, row.values)) starve(context, place, row.values);
      if (vanishes(context, place, row.values))
        extend(context, place, row.values, streak);
      else
        streak = {};
    });
    ++m_iterations;
  }

  /// A run that is shorter than a streak.
  void finish(EvaluationContext& context) override {
    for (auto& [place, streak] : m_streaks)
      if (streak.length == m_iterations && streak.length < kStreak)
        std::ranges::move(streak.pending, std::back_inserter(context.findings));
    const std::vector<Outcome::Loss>& losses = m_outcome.losses();
    if (losses.size() < kEnoughLosses || m_outcome.recoveredSince(losses.front().iteration)) return;
    for (auto& [place, starved] : m_starved)
      if (starved.length > kMostOf * m_iterations) context.findings.push_back(std::move(starved.first));
  }

 private:
  static constexpr int kStreak = 3;
  static constexpr double kShare = 1e-5;  // of the largest gradient
  static constexpr double kStarved = 1e-6;
  static constexpr double kContracted = 1e-3;  // of the largest, behind at least kDeep squashing activations
  static constexpr int kDeep = 3;
  static constexpr double kMostOf = 0.75;  // of the iterations
  static constexpr std::size_t kEnoughLosses = 20;
  /// Small against the others nearly all the run long, in a training that learns nothing.
  struct Starved {
    Finding first;
    int length = 0;
  };

  /// A gradient that is all zero because an activation function lets nothing through, named at that one, once
  /// an iteration.
  void lookBehindZero(EvaluationContext& context, const Place& place) {
    if (isRoundingNoise(context, place.rank, place.tensor)) return;
    const ZeroCause cause = zeroCause(context, place.rank, place.tensor);
    if (cause.kind != ZeroCause::Kind::kActivation || isHinge(context.graph(), cause.node) ||
        context.graph().node(cause.node).opType == "Relu")
      return;
    const Place at{place.iteration, place.rank, cause.tensor};
    if (!m_blocked.insert({at.rank, at.tensor}).second) return;
    Finding finding = findingAt(context, at, precedence::kVanishing);
    finding.node = cause.node;
    finding.detail = noPassage(context, at, cause.node);
    if (isSoftmaxOfAlike(context, at, cause.node))
      finding.advice = "Look at what the softmax weighs: why are its rows all the same?";
    context.findings.push_back(std::move(finding));
  }

  /// max(margin - x, 0) of every sample is 0: it has been learnt.
  static bool isHinge(const core::Graph& graph, core::NodeId node) {
    const std::string& type = graph.node(node).opType;
    return (type == "Max" || type == "Min" || type == "Clip") &&
           !leadsToParameters(graph, graph.node(node).outputs.front());
  }

  /// A softmax that is not saturated: a row of it has no gradient either where all that it weighs is the
  /// same.
  static bool isSoftmaxOfAlike(EvaluationContext& context, const Place& place, core::NodeId node) {
    const StatisticsRow* row = context.rows.now(place.rank, place.tensor);
    return context.graph().node(node).opType == "Softmax" && row &&
           row->values.l2 * row->values.l2 < 0.999 * row->values.l1;
  }

  /// Why an activation function gives no gradient back.
  static std::string noPassage(EvaluationContext& context, const Place& place, core::NodeId node) {
    const std::string& type = context.graph().node(node).opType;
    if (isSoftmaxOfAlike(context, place, node))
      return "Softmax is not saturated, but all that it weighs is the same along each row: no gradient "
             "passes";
    return "every element of " + type + " is saturated: no gradient passes";
  }

  bool isStarved(EvaluationContext& context, const Place& place, const core::TensorStatistics& values) const {
    if (isSmall(context, place, values, kStarved)) return true;
    const double largest = m_largest.at(place.rank);
    return squashingOf(context, place).count() >= kDeep && values.zero < values.count &&
           values.meanAbs < kContracted * largest && !isRoundingNoise(context, place.rank, place.tensor);
  }

  const Squashing& squashingOf(EvaluationContext& context, const Place& place) const {
    return m_squashing[context.graph().tensor(place.tensor).gradientOf.index()];
  }

  /// What makes it small: squashing activations, weights that begin small.
  std::string causeOf(EvaluationContext& context, const Place& place) const {
    constexpr double kSmallWeight = 0.2;  // times sqrt(2 / fan-in)
    std::string cause;
    if (const Squashing& squashing = squashingOf(context, place); squashing.count() >= kDeep)
      cause = "; " + squashing.text();
    const core::TensorId weight = context.graph().tensor(place.tensor).gradientOf;
    const StatisticsRow* row = context.rows.now(place.rank, weight);
    const double fanIn = row ? fanInOf(context.graph(), weight) : 0;
    const double size = fanIn > 0 ? std::hypot(row->values.mean, row->values.std) / std::sqrt(2 / fanIn) : 1;
    if (size > 0 && size < kSmallWeight)
      cause += "; its weight is " + core::formatShort(1 / size) + " times smaller than usual";
    return cause;
  }

  void starve(EvaluationContext& context, const Place& place, const core::TensorStatistics& values) {
    Starved& starved = m_starved[{place.rank, place.tensor}];
    if (starved.length++ > 0) return;
    starved.first = findingAt(context, place, precedence::kVanishing);
    starved.first.parameter = "abs_mean_lt";
    starved.first.preset = kStarved;
    starved.first.actual = values.meanAbs;
    starved.first.detail = "in most iterations, and the loss hardly falls: it is " +
                           core::formatShort(values.meanAbs / m_largest.at(place.rank)) +
                           " of the largest gradient of a parameter" + causeOf(context, place);
  }

  struct Streak {
    int length = 0;
    std::vector<Finding> pending;  // of the first iterations of a streak
  };

  double largest(EvaluationContext& context, core::Rank rank) const {
    double most = 0;
    if (context.rows.none()) return most;
    for (const core::TensorId tensor : m_walk.tensors())
      if (const StatisticsRow* row = context.rows.now(rank, tensor); row && row->values.nonFinite() == 0)
        most = std::max(most, row->values.meanAbs);
    return most;
  }

  bool isSmall(EvaluationContext& context, const Place& place, const core::TensorStatistics& values,
               double limit) const {
    if (values.zero == values.count || values.meanAbs >= kShare * m_largest.at(place.rank)) return false;
    return values.meanAbs < limit && !isRoundingNoise(context, place.rank, place.tensor);
  }
  bool vanishes(EvaluationContext& context, const Place& place, const core::TensorStatistics& values) const {
    return isSmall(context, place, values, parameterOr(context.parameters, "abs_mean_lt", 1e-9));
  }

  static void extend(EvaluationContext& context, const Place& place, const core::TensorStatistics& values,
                     Streak& streak) {
    Finding finding = findingAt(context, place, precedence::kVanishing);
    finding.parameter = "abs_mean_lt";
    finding.preset = parameterOr(context.parameters, "abs_mean_lt", 1e-9);
    finding.actual = values.meanAbs;
    streak.pending.push_back(std::move(finding));
    if (++streak.length < kStreak) return;
    std::ranges::move(streak.pending, std::back_inserter(context.findings));
    streak.pending.clear();
  }

  RowWalk m_walk;
  Outcome m_outcome;
  std::set<std::pair<core::Rank, core::TensorId>> m_blocked;  // activations named in this iteration
  std::vector<Squashing> m_squashing;                         // by tensor
  std::map<std::pair<core::Rank, core::TensorId>, Starved> m_starved;
  std::map<core::Rank, double> m_largest;  // mean|g| of any parameter, in this iteration
  std::map<std::pair<core::Rank, core::TensorId>, Streak> m_streaks;
  int m_iterations = 0;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<RecommendedVanishing>(graph);
  const auto gradients = chosenTensors(graph, parameters, selectTensors(graph, isGradient));
  return everyRow(RowWalk(graph, gradients, false), evaluateRow);
}

}  // namespace

ConditionDef gradientVanishingCondition() {
  ConditionDef def;
  def.id = "gradient_vanishing";
  def.title = "Gradient vanishing";
  def.doc =
      "A gradient is below a threshold: mean|g|, max, min or mean (MindInsight). Recommended: mean|g| < 1e-9 "
      "on the gradients of parameters, below 1e-5 of the largest of them, in three recorded iterations in a "
      "row; or 1e-6 in most of them, or a thousandth of the largest behind three Sigmoid or Tanh, where the "
      "loss does not fall by 30 %; or it is zero behind an activation all of whose elements are saturated; "
      "residues of rounding are left out.";
  def.advice =
      "Look at the inputs of the operator that makes the gradient: saturated or dead activations before it, a"
      " frozen layer, a loss that no longer depends on it; then initialisation and depth.";
  def.target = Target::kGradient;
  def.effect = Effect::kSilent;
  def.parameters = {{"abs_mean_lt", ParameterType::kAbs, {}, "hit if mean|g| is below"},
                    {"max_lt", ParameterType::kReal, {}, "hit if the maximum is below"},
                    {"min_lt", ParameterType::kReal, {}, "hit if the minimum is below"},
                    {"mean_lt", ParameterType::kReal, {}, "hit if the mean is below"},
                    tensorsParameter()};
  def.needsParameter = true;
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
