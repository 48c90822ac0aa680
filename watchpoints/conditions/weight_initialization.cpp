#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
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

/// What a weight's outputs sum over; 0 where it is no matrix of a layer (an embedding, a scale).
double fanInOf(const core::Graph& graph, core::TensorId weight) {
  const core::Shape& shape = graph.tensor(weight).shape;
  if (shape.rank() < 2 || !shape.known() || shape[0] == 0) return 0;
  for (const core::NodeId user : graph.consumers(weight)) {
    const core::Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward || node.inputs.size() < 2 || node.inputs[1] != weight) continue;
    if (node.opType == "Conv") return static_cast<double>(shape.elements() / shape[0]);
    if (node.opType == "Gemm" && core::intAttribute(node.attributes, "transB", 0) != 0)
      return static_cast<double>(shape[1]);
    if (node.opType == "Gemm" || node.opType == "MatMul") return static_cast<double>(shape[shape.rank() - 2]);
  }
  return 0;
}

/// Of the recommended set: all zero though not meant so; all equal, so that every unit learns the same; or so
/// large or small against sqrt(2 / fan-in) that the loss begins far off, or the logits at nothing, and
/// training does not recover.
class RecommendedInitialization : public Evaluator {
 public:
  explicit RecommendedInitialization(const core::Graph& graph)
      : m_walk(graph, selectTensors(graph, isWeight), true), m_outcome(graph) {
    for (const core::Node& node : graph.nodes())
      if (node.opType == "SoftmaxCrossEntropyLoss" && node.phase == core::Phase::kForward)
        m_logits = node.inputs.front();
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    if (context.iteration.value > 0) return;
    const auto [tooLarge, tooSmall] = startOf(context);
    m_walk.forEach(context, [&](const Place& place, const StatisticsRow& row) {
      if (!finite(context, place, row.values)) return;
      ++context.evaluated;
      lookAt(context, place, row.values, tooLarge, tooSmall);
    });
  }

  void finish(EvaluationContext& context) override {
    for (Finding& finding : m_pending)
      if (!m_outcome.recoveredSince(finding.iteration)) context.findings.push_back(std::move(finding));
  }

 private:
  static constexpr double kTooLarge = 10, kTooSmall = 0.02;  // of sqrt(2 / fan-in)

  struct Start {
    bool tooLarge = false, tooSmall = false;
  };
  /// What the first iteration shows of the initial values.
  Start startOf(EvaluationContext& context) const {
    const core::Rank rank = context.ranks.empty() ? core::Rank() : context.ranks.front();
    const StatisticsRow* loss =
        m_outcome.tensor().valid() ? context.rows.now(rank, m_outcome.tensor()) : nullptr;
    const StatisticsRow* logits = m_logits.valid() ? context.rows.now(rank, m_logits) : nullptr;
    Start start;
    start.tooLarge = !loss || loss->values.nonFinite() > 0 || loss->values.max > kFarOff;
    if (logits && logits->values.count > 0) {
      start.tooLarge = start.tooLarge || logits->values.meanAbs > kFarOff;
      start.tooSmall = logits->values.meanAbs < 1e-4;
    }
    return start;
  }

  void lookAt(EvaluationContext& context, const Place& place, const core::TensorStatistics& values,
              bool tooLarge, bool tooSmall) {
    const core::TensorInfo& info = context.graph().tensor(place.tensor);
    const double fanIn = fanInOf(context.graph(), place.tensor);
    if (values.zero == values.count) {
      if (!isZeroInitialised(info))
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
    if (ratio > kTooLarge && !tooLarge) lookAtSaturation(context, place, ratio);
    if (ratio > kTooLarge && tooLarge)
      add(context, place, kTooLarge * usual, size, "", detail + ": values explode from here on", false);
    if (ratio < kTooSmall && tooSmall)
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

  /// Tanh and Sigmoid hide how large their input is: what they give lies at the ends of their range. A hint,
  /// as training goes on all the same, but slowly.
  void lookAtSaturation(EvaluationContext& context, const Place& place, double ratio) {
    const core::NodeId end = firstActivation(context.graph(), place.tensor);
    const core::Node* node = end.valid() ? &context.graph().node(end) : nullptr;
    const StatisticsRow* row = node ? context.rows.now(place.rank, node->outputs.front()) : nullptr;
    if (!row || row->values.count == 0) return;
    const bool tanh = node->opType == "Tanh";
    // Of Tanh |y|, of Sigmoid 2 |y - 1/2|, both by their root mean square.
    const double squares = row->values.l2 * row->values.l2 / static_cast<double>(row->values.count),
                 size = std::sqrt(tanh ? squares : std::abs(4 * squares - 4 * row->values.mean + 1));
    if (size < kSaturated) return;
    Finding finding = findingAt(context, place, precedence::kOther);
    finding.node = end;
    finding.tensor = node->outputs.front();
    finding.severity = Severity::kHint;
    finding.actual = size;
    finding.preset = kSaturated;
    finding.detail = node->opType + " is saturated from the first iteration on: its weight " +
                     context.graph().tensor(place.tensor).name + " begins " + core::formatShort(ratio) +
                     " times as large as usual";
    context.findings.push_back(std::move(finding));
  }

  /// The Tanh or Sigmoid that follows the layer, past its bias and a normalisation of nothing.
  static core::NodeId firstActivation(const core::Graph& graph, core::TensorId tensor) {
    for (int steps = 0; steps < 3 && tensor.valid(); ++steps) {
      core::TensorId next;
      for (const core::NodeId user : graph.consumers(tensor)) {
        const core::Node& node = graph.node(user);
        if (node.phase != core::Phase::kForward) continue;
        if (node.opType == "Tanh" || node.opType == "Sigmoid") return user;
        if (node.opType == "Gemm" || node.opType == "MatMul" || node.opType == "Conv" || node.opType == "Add")
          next = node.outputs.front();
      }
      tensor = next;
    }
    return {};
  }
  static constexpr double kSaturated = 0.9;

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

  RowWalk m_walk;
  Outcome m_outcome;
  core::TensorId m_logits;
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
      "not recover; a hint where a Tanh or Sigmoid is saturated by it.";
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
