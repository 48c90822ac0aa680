#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/bootstrap.h"
#include "watchpoints/conditions/change.h"
#include "watchpoints/conditions/guessing.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {
namespace {

struct Thresholds {
  std::size_t steps;
  double drop, rise;  // %
};

Thresholds thresholdsOf(const Parameters& parameters) {
  return {static_cast<std::size_t>(parameterOr(parameters, "num_steps", 10)),
          parameterOr(parameters, "diff_percent", 0.1),
          parameterOr(parameters, "increase_threshold_percent", 5)};
}

/// now against before: fell by less than diff_percent, or rose by more than increase_threshold_percent.
/// Returns the fall in %.
void compare(EvaluationContext& context, const Place& place, double before, double now,
             const Thresholds& thresholds) {
  ++context.evaluated;
  const double fell = 100 * (before - now) / std::max(std::abs(before), 1e-300);
  const bool rose = -fell > thresholds.rise;
  if (!rose && fell >= thresholds.drop) return;
  Finding finding = findingAt(context, place, precedence::kOther);
  finding.parameter = rose ? "increase_threshold_percent" : "diff_percent";
  finding.preset = rose ? thresholds.rise : thresholds.drop;
  finding.actual = rose ? -fell : fell;
  const core::TensorInfo& tensor = context.graph().tensor(place.tensor);
  finding.detail = (tensor.role == core::TensorRole::kLoss ? "the loss" : tensor.name) + " went from " +
                   core::formatShort(before) + " to " + core::formatShort(now);
  context.findings.push_back(std::move(finding));
}

/// The losses of one rank that are still to be compared with, oldest first.
struct History {
  std::deque<double> losses;
  bool ended = false;  // a loss was not finite
};

void evaluateStep(EvaluationContext& context, const Place& place, const Thresholds& thresholds,
                  History& history) {
  if (history.losses.size() <= thresholds.steps) return notEvaluable(context, place, "no_previous");
  compare(context, place, history.losses.front(), history.losses.back(), thresholds);
  history.losses.pop_front();
}

class LossNotDecreasing : public Evaluator {
 public:
  LossNotDecreasing(const core::Graph& graph, const Parameters& parameters)
      : m_loss(followedTensor(graph, parameters)) {}

  void evaluate(EvaluationContext& context) override {
    if (!m_loss.valid()) return;
    for (const core::Rank rank : context.ranks)
      evaluateAt(context, {context.iteration, rank, m_loss}, m_histories[rank]);
  }

 private:
  /// Up to the first loss that is not finite.
  static void evaluateAt(EvaluationContext& context, const Place& place, History& history) {
    if (history.ended) return;
    const StatisticsRow* row = context.rows.now(place.rank, place.tensor);
    const std::optional<double> thinned =
        row ? std::nullopt : lossOfThinned(context, place.rank, place.tensor);
    if (!row && !thinned) return missing(context, place, history);
    history.ended = row ? !finite(context, place, row->values) : !std::isfinite(*thinned);
    if (history.ended) return;
    history.losses.push_back(row ? row->values.mean : *thinned);
    evaluateStep(context, place, thresholdsOf(context.parameters), history);
  }

  /// Steps are not counted over what was thinned: ten iterations would be one.
  static void missing(EvaluationContext& context, const Place& place, History& history) {
    missingRow(context, place);
    if (context.rows.missingReason(place.rank, place.tensor) == "thinned") history.losses.clear();
  }

  core::TensorId m_loss;
  std::map<core::Rank, History> m_histories;
};

/// Whether several optimizers have a loss each, for parameters of their own, as in a GAN: what one gains the
/// other loses, and no loss says how it goes.
bool areRivals(const core::Graph& graph) {
  std::map<std::string, std::set<core::TensorId>> parameters;  // by optimizer
  for (const ParameterUpdate& update : parameterUpdates(graph)) {
    if (!update.rate.valid()) return false;
    const std::string& rate = graph.tensor(update.rate).name;
    parameters[rate.substr(0, rate.find('/'))].insert(update.parameter);
  }
  const auto losses = std::ranges::count(graph.tensors(), core::TensorRole::kLoss, &core::TensorInfo::role);
  std::set<core::TensorId> all;
  std::size_t sum = 0;
  for (const auto& [optimizer, own] : parameters) all.insert(own.begin(), own.end()), sum += own.size();
  return losses > 1 && parameters.size() > 1 && all.size() == sum;
}

/// Whether what the loss is computed from was drawn by chance: the actions of a policy, of whose loss nobody
/// expects that it falls.
bool isOfPolicy(const core::Graph& graph) {
  const core::TensorId loss = followedTensor(graph, {});
  if (!loss.valid()) return false;
  const std::vector<bool> parts = partsOf(graph, loss);
  return std::ranges::any_of(graph.nodes(), [&](const core::Node& node) {
    return node.opType == "aten.multinomial" && parts[node.outputs.front().index()];
  });
}

/// Of the recommended set, one hint a run: the last quarter of the losses is not below the first by more than
/// their noise. Single losses jump from batch to batch, and single windows stand still.
class NothingLearnt : public Evaluator {
 public:
  explicit NothingLearnt(const core::Graph& graph)
      : m_outcome(graph),
        m_guessing(graph),
        m_weights(graph, weightUpdates(graph), true),
        m_unasked(areRivals(graph) || isOfPolicy(graph) || bootstrappedTarget(graph)) {}
  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    m_guessing.add(context);
    ++context.evaluated;
    if (!context.ranks.empty()) m_rank = context.rankWith(m_outcome.tensor());
    m_moved.push_back(0);
    m_weights.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      const std::optional<core::ChangeStatistics>& change = row.change;
      const core::TensorId parameter = context.graph().tensor(place.tensor).updateOf;
      // What starts at zero is as large as its steps.
      if (isZeroInitialised(context.graph().tensor(parameter))) return;
      if (change && change->meanAbsPrevious > 0)
        m_moved.back() = std::max(m_moved.back(), change->meanAbsChange / change->meanAbsPrevious);
    });
  }

  void finish(EvaluationContext& context) override {
    const std::span<const Outcome::Loss> losses = m_outcome.losses();
    if (losses.size() < kLeast || !m_outcome.finite()) return;
    const std::size_t quarter = losses.size() / 4;
    const LossWindow first = windowOf(losses.first(quarter)), last = windowOf(losses.last(quarter));
    const std::optional<double> cost = m_guessing.cost();
    if (m_unasked) return;
    const bool guesses = cost && last.mean > kGuesses * *cost;
    const bool falls = fallsClearly(losses, 2) && last.mean < first.mean - kFall * std::abs(first.mean);
    const bool nothingLeft = last.mean == 0 && first.mean > 0;  // a hinge that is met
    if (!guesses && (falls || nothingLeft || m_outcome.recoveredSince(losses.front().iteration))) return;
    // Far above it the loss may still be on its way down.
    if (guesses && falls && last.mean > kFarAbove * *cost) return;
    Finding finding = findingAt(
        context, {losses[losses.size() - quarter].iteration, m_rank, m_outcome.tensor()}, precedence::kOther);
    finding.detail = "mean " + core::formatShort(first.mean) + " over the first " + std::to_string(quarter) +
                     " iterations, " + core::formatShort(last.mean) + " over the last";
    // Where the weights hardly moved, the condition's own advice is right: the rate first.
    if (moved(m_moved.begin()) >= kMoved)
      finding.advice =
          "Look at a few samples as they reach the model, beside their labels: do they belong together? Then "
          "at what lies between the inputs and the loss (signs, axes, masks, what is detached), at vanishing "
          "gradients and at initialisation; at the learning rate last.";
    if (guesses) addGuessing(context.graph(), last.mean, finding);
    tellOfRareUpdates(std::ranges::count_if(m_moved, [](double moved) { return moved > 0; }),
                      std::ssize(m_moved), finding);
    context.findings.push_back(std::move(finding));
  }

 private:
  static constexpr std::size_t kLeast = 40;                  // losses; a quarter is ten
  static constexpr double kFall = 0.01;                      // of the loss, to be worth the name
  static constexpr double kGuesses = 0.97, kFarAbove = 1.3;  // of what guessing costs
  static constexpr double kMoved = 0.05;                     // of itself, all steps together

  /// How far at most a weight went from there on, of itself.
  double moved(std::vector<double>::const_iterator from) const {
    return std::accumulate(from, m_moved.end(), 0.0);
  }

  void addGuessing(const core::Graph& graph, double last, Finding& finding) const {
    const bool worse = last > kFarAbove * *m_guessing.cost();
    finding.detail += std::string(worse ? ": worse than " : ": no better than ") + m_guessing.text(graph) +
                      ", " + core::formatShort(*m_guessing.cost());
    if (worse) return;  // something else is wrong than what the inputs tell
    // In the second half: some move before a rate goes to nothing.
    if (moved(m_moved.begin() + std::ssize(m_moved) / 2) < kMoved / 2) return;
    finding.detail +=
        "; the weights move, so that the inputs, as they arrive, do not tell the targets: were samples and "
        "labels shuffled apart, or is what tells them lost on the way?";
    finding.advice =
        "Look at a few samples beside their labels: do they belong together, and are they in one order? Then "
        "at the layers that the inputs go through; at the learning rate last.";
  }

  Outcome m_outcome;
  Guessing m_guessing;
  RowWalk m_weights;
  std::vector<double> m_moved;  // by iteration: the largest ratio of a step to its weight
  core::Rank m_rank;
  bool m_unasked;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<NothingLearnt>(graph);
  return std::make_unique<LossNotDecreasing>(graph, parameters);
}

std::string validate(const Parameters& parameters) {
  const double steps = parameterOr(parameters, "num_steps", 10);
  return steps == std::floor(steps) && steps <= 1e9 ? "" : "num_steps must be a whole number, 1 to 1e9";
}

}  // namespace

ConditionDef lossNotDecreasingCondition() {
  ConditionDef def;
  def.id = "loss_not_decreasing";
  def.title = "Loss not decreasing";
  def.doc =
      "Against the loss num_steps recorded iterations ago it fell by less than diff_percent %, or rose by "
      "more than increase_threshold_percent % (SageMaker Debugger). Recommended, as one hint a run of 40 "
      "losses and more: the mean of the last quarter is not below that of the first by more than their noise "
      "and 1 %, or it is no better than guessing a class, or than the mean of the targets where it is a mean "
      "of squares. Not asked where several optimizers have a loss each, which may work against each other, "
      "nor of "
      "actions that were drawn (a policy gradient)";
  def.advice =
      "Look at the learning rate first, then at initialisation, vanishing gradients and the data: do the "
      "labels belong to their samples?";
  def.severity = Severity::kHint;
  def.target = Target::kLoss;
  def.parameters = {
      {"num_steps", ParameterType::kPos, 10.0, "how many recorded iterations back to compare with"},
      {"diff_percent", ParameterType::kPct, 0.1, "hit if the loss fell by less than this percentage"},
      {"increase_threshold_percent", ParameterType::kAbs, 5.0, "hit if it rose by more than this percentage"},
      followedParameter()};
  def.needsPrevious = true;
  def.make = make;
  def.validate = validate;
  return def;
}

}  // namespace msdbg::watch
