#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "watchpoints/conditions/gradient_cause.h"
#include "watchpoints/conditions/loss_sum.h"
#include "watchpoints/conditions/outcome.h"

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
    if (dead <= threshold) return;
    Finding finding = findingAt(context, place, precedence::kDeadRelu);
    finding.parameter = "threshold_layer";
    finding.preset = threshold;
    finding.actual = dead;
    context.findings.push_back(std::move(finding));
  }

  RowWalk m_walk;
};

/// Of the recommended set: a layer whose every element is zero from some iteration to the end has died, in
/// three recorded iterations at least (a batch of one may silence a small layer once). What has died in part,
/// or comes back, is what Relu does.
class DeadForGood : public Evaluator {
 public:
  DeadForGood(const core::Graph& graph, RowWalk walk)
      : m_walk(std::move(walk)), m_outcome(graph), m_classes(classesOfLoss(graph)) {
    for (const core::TensorId tensor : m_walk.tensors())
      if (!leadsToParameters(graph, tensor)) m_ofLoss.insert(tensor);
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    if (!m_first.valid()) m_first = context.iteration;
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      if (!finite(context, place, row.values)) return;
      ++context.evaluated;
      Layer& layer = m_layers[{place.rank, place.tensor}];
      if (row.values.count > 0 && row.values.zero == row.values.count)
        extend(context, place, 100, layer);
      else
        layer = {.alive = place.iteration, .death = {}, .length = 0};
    });
    ++m_iterations;
  }

  void finish(EvaluationContext& context) override {
    const std::optional<LossSum> sum = sumOfLoss(context.graph());
    const bool learnt = m_outcome.recoveredSince(m_first);
    for (auto& [place, layer] : m_layers)
      if (learnt && m_ofLoss.contains(place.second))
        continue;
      else if (layer.death && (layer.length >= kLeast || layer.length == m_iterations)) {
        if (layer.alive && layer.alive->value < m_first.value + kSoon) blameSum(sum, *layer.death);
        if (!hadLearntBefore(layer.death->iteration)) addStoodStill(*layer.death);
        context.findings.push_back(std::move(*layer.death));
      }
  }

 private:
  static constexpr int kLeast = 3;
  static constexpr std::int64_t kSoon = 10;  // iterations: killed by the first steps

  struct Layer {
    std::optional<core::Iteration> alive;  // last
    std::optional<Finding> death;
    int length = 0;
  };

  /// Whether the loss had fallen, to less than guessing costs, when the layer died; true where too few
  /// iterations came before.
  bool hadLearntBefore(core::Iteration death) const {
    constexpr std::size_t kFew = 16;
    constexpr double kGuesses = 0.97;  // of what guessing costs
    const std::span<const Outcome::Loss> losses = m_outcome.losses();
    const auto end = std::ranges::lower_bound(losses, death, {}, &Outcome::Loss::iteration);
    const auto before = losses.first(static_cast<std::size_t>(end - losses.begin()));
    if (before.size() < kFew || !m_outcome.finite()) return true;
    const bool guesses = m_classes > 1 && windowOf(before.last(before.size() / 4)).mean >
                                              kGuesses * std::log(static_cast<double>(m_classes));
    return !guesses && fallsClearly(before, 2);
  }
  static void addStoodStill(Finding& finding) {
    finding.detail +=
        "; the loss had not fallen in all the iterations before: what keeps the network from learning was "
        "there before the layer died";
    finding.advice =
        "Look first at what lies between the inputs and the loss: scales, axes of normalisation and softmax, "
        "masks, whether samples and labels belong together; then at the learning rate.";
  }

  /// While training goes on: told when it has lasted.
  void extend(EvaluationContext& context, const Place& place, double dead, Layer& layer) const {
    if (!layer.death) layer.death = deathOf(context, place, dead, layer.alive);
    if (++layer.length < kLeast || !context.online || m_ofLoss.contains(place.tensor)) return;
    layer.death->iteration = place.iteration;
    context.findings.push_back(*layer.death);
  }

  static Finding deathOf(EvaluationContext& context, const Place& place, double dead,
                         std::optional<core::Iteration> alive) {
    Finding finding = findingAt(context, place, precedence::kDeadRelu);
    finding.parameter = "threshold_layer";
    finding.preset = kDiedPercentage;
    finding.actual = dead;
    finding.detail = alive ? "the layer was alive in iteration " + std::to_string(alive->value) +
                                 " and has died: every element is 0, no gradient passes"
                           : "the layer is dead from the first recorded iteration on: every element is 0, no "
                             "gradient passes";
    if (!alive)
      finding.advice =
          "It was dead before an update could kill it: look at how bias and weights are initialised, and at "
          "the scale and sign of what the layer reads.";
    return finding;
  }

  RowWalk m_walk;
  Outcome m_outcome;
  std::int64_t m_classes;             // of a cross-entropy; 0: the loss is another
  std::set<core::TensorId> m_ofLoss;  // Relus that no parameter follows
  core::Iteration m_first;
  std::map<std::pair<core::Rank, core::TensorId>, Layer> m_layers;
  int m_iterations = 0;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  const auto tensors = selectTensors(graph, [&](const core::TensorInfo& info) {
    return isActivation(graph, info) && opTypeOf(graph, info.id) == "Relu";
  });
  RowWalk walk(graph, chosenTensors(graph, parameters, tensors), recommended);
  if (recommended) return std::make_unique<DeadForGood>(graph, std::move(walk));
  return std::make_unique<DeadRelu>(std::move(walk));
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
      "more than threshold_layer % of a layer's units are dead (SageMaker Debugger). Recommended: every "
      "element is zero from some iteration to the end of the run, three recorded iterations at least.";
  def.advice =
      "Look at the bias and the weights that feed the Relu, and at their last update: too large a learning "
      "rate or a large negative bias silences a layer for good.";
  def.target = Target::kActivation;
  def.effect = Effect::kSilent;
  def.parameters = {
      {"threshold_inactivity", ParameterType::kPct, kRecordedInactivity,
       "a unit active in less than this percentage is dead"},
      {"threshold_layer", ParameterType::kPct, 50.0, "hit if more than this percentage of the units is dead"},
      tensorsParameter()};
  def.make = make;
  def.notOnline = notOnline;
  return def;
}

}  // namespace msdbg::watch
