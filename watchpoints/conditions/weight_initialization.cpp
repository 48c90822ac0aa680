#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/initial_size.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {
namespace {

void evaluateRow(EvaluationContext& context, const Place& place, const StatisticsRow& row) {
  if (!finite(context, place, row.values)) return;
  evaluateMeasures(context, place, precedence::kOther,
                   {{"zero_percentage_ge", zeroPercentage(row.values)},
                    {"max_gt", row.values.max},
                    {"min_lt", row.values.min}});
}

class WeightInitialization : public Evaluator {
 public:
  WeightInitialization(const core::Graph& graph, const Parameters& parameters)
      : m_walk(graph, chosenTensors(graph, parameters, selectTensors(graph, isWeight)), false) {}
  void evaluate(EvaluationContext& context) override {
    if (context.iteration.value > 0) return;
    m_seen = true;
    m_walk.forEach(context,
                   [&](const Place& place, const StatisticsRow& row) { evaluateRow(context, place, row); });
  }

  void finish(EvaluationContext& context) override {
    if (m_seen) return;
    for (const core::Rank rank : context.allRanks)
      for (const core::TensorId weight : m_walk.tensors())
        notEvaluable(context, {core::Iteration(0), rank, weight}, "no_value",
                     "iteration 0 is not recorded or not selected");
  }

 private:
  RowWalk m_walk;
  bool m_seen = false;  // iteration 0
};

/// Of the recommended set: all zero though not meant so; all equal, so that every unit learns the same; or so
/// large or small against sqrt(2 / fan-in) that the loss begins far off, or the logits at nothing, and
/// training does not recover.
class RecommendedInitialization : public Evaluator {
 public:
  explicit RecommendedInitialization(const core::Graph& graph)
      : m_walk(graph, selectTensors(graph, isWeight), true),
        m_outcome(graph),
        m_classes(classesOfLoss(graph)) {
    for (const core::Node& node : graph.nodes())
      if (node.opType == "SoftmaxCrossEntropyLoss" && node.phase == core::Phase::kForward)
        m_logits = node.inputs.front();
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    if (context.iteration.value > 0) return;
    const Start start = startOf(context);
    m_aboveGuessing = start.aboveGuessing;
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      if (!finite(context, place, row.values)) return;
      ++context.evaluated;
      lookAt(context, place, row.values, start);
    });
  }

  void finish(EvaluationContext& context) override {
    for (Finding& finding : m_pending) {
      const bool recovered = m_outcome.recoveredSince(finding.iteration);
      if (recovered && !m_aboveGuessing) continue;
      if (recovered) finding.severity = Severity::kHint;
      context.findings.push_back(std::move(finding));
    }
  }

 private:
  static constexpr double kTooLarge = 10, kTooSmall = 0.02;  // of sqrt(2 / fan-in)

  struct Start {
    bool tooLarge = false, tooSmall = false;
    bool aboveGuessing = false;  // the loss is far above what guessing a class costs
  };
  /// What the first iteration shows of the initial values.
  Start startOf(EvaluationContext& context) const {
    const core::Rank rank = context.rankWith(m_outcome.tensor());
    const StatisticsRow* loss =
        m_outcome.tensor().valid() ? context.rows.now(rank, m_outcome.tensor()) : nullptr;
    const StatisticsRow* logits = m_logits.valid() ? context.rows.now(rank, m_logits) : nullptr;
    Start start;
    start.tooLarge = !loss || loss->values.nonFinite() > 0 || loss->values.max > kFarOff;
    start.aboveGuessing = m_classes > 1 && loss && loss->values.nonFinite() == 0 &&
                          loss->values.mean > kTimesGuessing * std::log(static_cast<double>(m_classes));
    if (logits && logits->values.count > 0) {
      start.tooLarge = start.tooLarge || logits->values.meanAbs > kFarOff;
      start.tooSmall = logits->values.meanAbs < 1e-4;
    }
    return start;
  }

  void lookAt(EvaluationContext& context, const Place& place, const core::TensorStatistics& values,
              const Start& start) {
    const core::TensorInfo& info = context.graph().tensor(place.tensor);
    const double fanIn = fanInOf(context.graph(), place.tensor);
    if (values.zero == values.count) {
      if (!mayStartAtZero(info))
        add(context, place, 100, 100, "zero_percentage_ge", "every element is zero", true);
      return;
    }
    if (fanIn > 0 && values.count > 1 && values.min == values.max) {
      if (!staysAlike(context, place)) return;
      return add(
          context, place, 0, values.min, "",
          "every element is " + core::formatShort(values.min) + ": all units of the layer learn the same",
          true);
    }
    if (fanIn == 0) return;
    const double usual = std::sqrt(2 / fanIn), size = std::hypot(values.mean, values.std),
                 ratio = size / usual;
    const std::string detail = "its elements are of size " + core::formatShort(size) + ", " +
                               core::formatShort(ratio) +
                               " times the usual sqrt(2 / fan-in) = " + core::formatShort(usual);
    if (ratio > kTooLarge && start.tooLarge)
      add(context, place, kTooLarge * usual, size, "", detail + ": values explode from here on", false);
    else if (ratio > kLargeAtAll && start.aboveGuessing)  // far off, but training may go on from there
      add(context, place, kLargeAtAll * usual, size, "",
          detail + ": the loss begins far above what guessing one of " + std::to_string(m_classes) +
              " classes costs, " + core::formatShort(std::log(static_cast<double>(m_classes))),
          false);
    if (ratio < kTooSmall && start.tooSmall)
      add(context, place, kTooSmall * usual, size, "", detail + ": values and gradients vanish", false);
  }

  /// Units of one layer that begin alike stay so where what follows treats them alike: layers whose weights
  /// are all equal too. Biases of their own, Dropout, a weight at random, a loss that asks something else of
  /// each unit tell them apart.
  static bool staysAlike(EvaluationContext& context, const Place& place) {
    const core::Graph& graph = context.graph();
    const auto isEqual = [&](core::TensorId tensor) {
      const StatisticsRow* row = context.rows.now(place.rank, tensor);
      return row && row->values.min == row->values.max;
    };
    bool layers = false;
    std::vector<bool> seen(graph.tensors().size());
    std::vector<core::TensorId> open{place.tensor};
    for (std::size_t i = 0; i < open.size(); ++i)
      for (const core::NodeId user : graph.consumers(open[i])) {
        const core::Node& node = graph.node(user);
        if (node.phase != core::Phase::kForward) continue;
        if (node.opType == "Dropout") return false;
        for (const core::TensorId input : node.inputs) {
          const core::TensorInfo& other = graph.tensor(input);
          if (other.role != core::TensorRole::kParameter || input == place.tensor) continue;
          if (!isEqual(input)) return false;
          layers = layers || other.shape.rank() > 1;
        }
        for (const core::TensorId output : node.outputs)
          if (!seen[output.index()]) seen[output.index()] = true, open.push_back(output);
      }
    return layers;
  }

  void add(EvaluationContext& context, const Place& place, double preset, double actual,
           std::string_view parameter, std::string detail, bool certain) {
    Finding finding = findingAt(context, place, precedence::kOther);
    finding.parameter = parameter;
    finding.preset = preset;
    finding.actual = actual;
    finding.detail = std::move(detail);
    (certain ? context.findings : m_pending).push_back(std::move(finding));
  }

  static constexpr double kFarOff = 50;  // a loss or logits that begin above
  static constexpr double kTimesGuessing = 5, kLargeAtAll = 3;

  RowWalk m_walk;
  Outcome m_outcome;
  std::int64_t m_classes;  // of a loss that is a cross-entropy
  core::TensorId m_logits;
  bool m_aboveGuessing = false;  // at the start
  std::vector<Finding> m_pending;
};

std::unique_ptr<Evaluator> make(const core::Graph& graph, const Parameters& parameters, bool recommended) {
  if (recommended) return std::make_unique<RecommendedInitialization>(graph);
  return std::make_unique<WeightInitialization>(graph, parameters);
}

}  // namespace

ConditionDef weightInitializationCondition() {
  ConditionDef def;
  def.id = "weight_initialization";
  def.title = "Weight initialization";
  def.doc =
      "Before the first update a weight is all zero (zero_percentage_ge), or holds values above max_gt or "
      "below min_lt"
      " (MindInsight). Recommended: all zeros, without parameters that are zero-initialised on purpose; all "
      "equal; "
      "or far from sqrt(2 / fan-in) (He et al. 2015), where the first iteration shows it and the loss does "
      "not recover.";
  def.advice =
      "Look at the layer's initialiser: equal weights learn equal things, and too large ones overflow.";
  def.target = Target::kWeight;
  def.parameters = {{"zero_percentage_ge", ParameterType::kPct, 100.0,
                     "hit if this share of the elements, or more, is zero"},
                    {"max_gt", ParameterType::kReal, {}, "hit if the maximum is above"},
                    {"min_lt", ParameterType::kReal, {}, "hit if the minimum is below"},
                    tensorsParameter()};
  def.make = make;
  return def;
}

}  // namespace msdbg::watch
