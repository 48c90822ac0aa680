// Tanh, Sigmoid and the Softmax of attention that give nothing but the ends of their range before anything
// was learnt: next to no gradient comes back through them. The first iteration shows it, and the end of the
// run whether it mattered.
#include <algorithm>
#include <array>
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/initial_size.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/outcome.h"
#include "watchpoints/conditions/score_scale.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// A forward operator that reads the tensor and is of this type.
bool isReadBy(const Graph& graph, TensorId tensor, std::string_view opType) {
  return std::ranges::any_of(graph.consumers(tensor), [&](core::NodeId user) {
    return graph.node(user).phase == core::Phase::kForward && graph.node(user).opType == opType;
  });
}

/// Products of what is not a parameter, as scores are.
bool isScores(const Graph& graph, const Node& node) {
  return node.opType == "MatMul" && std::ranges::none_of(node.inputs, [&](TensorId input) {
           return graph.tensor(input).role == core::TensorRole::kParameter;
         });
}

/// PyTorch's recorder counts the calls of a module in an iteration ("Net/relu#2"): the weights may have been
/// changed by then, as by the points that L-BFGS tries.
bool isLaterCall(const Node& node) { return !node.isOwn() && node.scope.find('#') != std::string::npos; }

class SaturatedStart : public Evaluator {
 public:
  explicit SaturatedStart(const Graph& graph) : m_outcome(graph) {
    // What no gradient goes back through, as a frozen teacher, or labels that are computed, loses none.
    const std::vector<bool> differentiated = differentiatedTensors(graph);
    for (const Node& node : graph.nodes()) {
      if (node.phase != core::Phase::kForward || isLaterCall(node) || node.inputs.empty()) continue;
      if (!differentiated[node.outputs.front().index()]) continue;
      const bool attention = node.opType == "Softmax" && isReadBy(graph, node.outputs.front(), "MatMul");
      if (attention || node.opType == "Tanh" || node.opType == "Sigmoid") m_nodes.push_back(node.id);
    }
  }

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    if (m_asked || context.ranks.empty()) return;
    m_asked = true;
    lookForScale(context);
    for (const core::NodeId id : m_nodes) {
      const Node& node = context.graph().node(id);
      const StatisticsRow* row =
          context.rows.now(context.rankWith(node.outputs.front()), node.outputs.front());
      if (!row || row->values.count == 0 || row->values.nonFinite() > 0) continue;
      ++context.evaluated;
      const double size = saturation(context.graph(), node, row->values);
      if (size < kSaturated) continue;
      m_finding = findingOf(context, node, size);
      m_isPrior = node.opType == "Sigmoid" && row->values.std < kEven;
      return;  // what follows reads it
    }
  }

  void finish(EvaluationContext& context) override {
    if (!m_finding || m_outcome.beginsNonFinite()) return;
    if (m_outcome.recoveredSince(m_finding->iteration)) {
      // A gate that begins open, as a bias of 3 makes it; classes that begin rare (RetinaNet's prior).
      if (m_finding->actual < kStarkly || m_isPrior) return;
      m_finding->severity = Severity::kHint;
    }
    context.findings.push_back(std::move(*m_finding));
  }

 private:
  static void lookForScale(EvaluationContext& context) {
    static constexpr auto kSoftmax = std::to_array<std::string_view>({"Softmax", "aten._softmax"});
    for (const Node& node : context.graph().nodes()) {
      if (node.phase != core::Phase::kForward || !isOneOf(&node, kSoftmax)) continue;
      const std::optional<ScaledUp> scaled = scaledUp(context.graph(), node);
      if (!scaled) continue;
      Finding finding = findingAtNode(context, scaled->factor, scaled->sentence);
      finding.advice = "Divide by math.sqrt(width of a head), or multiply by width ** -0.5.";
      return context.findings.push_back(std::move(finding));
    }
  }

  static constexpr double kSaturated = 0.9, kStarkly = 0.95;
  static constexpr double kEven = 0.02;      // deviation of what a bias alone decides
  static constexpr double kLargeWeight = 3;  // times sqrt(2 / fan-in)
  static constexpr double kLargeData = 20, kLargeScores = 4;

  /// 0: nothing is, 1: every element is at an end of the range. Of Tanh the root mean square, of Sigmoid that
  /// of 2 y - 1, of Softmax the mean of the sums of squares of its rows.
  static double saturation(const Graph& graph, const Node& node, const core::TensorStatistics& values) {
    const double squares = values.l2 * values.l2 / static_cast<double>(values.count);
    if (node.opType == "Tanh") return std::sqrt(squares);
    if (node.opType == "Sigmoid") return std::sqrt(std::abs(4 * squares - 4 * values.mean + 1));
    const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
    const std::int64_t axis = core::intAttribute(node.attributes, "axis", -1);
    const auto last = static_cast<std::int64_t>(shape.rank()) - 1;
    if (!shape.known() || last < 1 || (axis != -1 && axis != last)) return 0;
    const auto width = static_cast<double>(shape[static_cast<std::size_t>(last)]);
    return width < 4 ? 0 : squares * width;
  }

  Finding findingOf(EvaluationContext& context, const Node& node, double size) const {
    Finding finding =
        findingAt(context, {context.iteration, context.rankWith(node.outputs.front()), node.outputs.front()},
                  precedence::kOther);
    finding.actual = size;
    finding.preset = kSaturated;
    finding.detail = node.opType + " is saturated from the first iteration on: " +
                     (node.opType == "Softmax" ? "nearly all of each row is one element"
                                               : "nearly all of it lies at the ends of its range");
    const std::string cause = causeOf(context, node.inputs.front());
    if (!cause.empty()) finding.detail += "; " + cause;
    return finding;
  }

  /// Back from what it reads to a weight, data or scores that are too large.
  std::string causeOf(EvaluationContext& context, TensorId tensor) const {
    const Graph& graph = context.graph();
    for (int steps = 0; steps < 6 && tensor.valid() && graph.tensor(tensor).producer.valid(); ++steps) {
      const Node& node = graph.node(graph.tensor(tensor).producer);
      for (const TensorId input : node.inputs)
        if (std::string cause = causeOfInput(context, input); !cause.empty()) return cause;
      if (isScores(graph, node)) return causeOfScores(context, node);
      tensor = largestInput(context, node);
    }
    return {};
  }

  std::string causeOfInput(EvaluationContext& context, TensorId input) const {
    const core::TensorInfo& info = context.graph().tensor(input);
    const StatisticsRow* row = context.rows.now(context.rankWith(input), input);
    if (!row || row->values.nonFinite() > 0) return {};
    if (info.role == core::TensorRole::kInput && row->values.meanAbs > kLargeData)
      return info.name + " is not normalised: mean|x| is " + core::formatShort(row->values.meanAbs);
    const double fanIn = info.role == core::TensorRole::kParameter ? fanInOf(context.graph(), input) : 0;
    const double ratio = fanIn > 0 ? std::hypot(row->values.mean, row->values.std) / std::sqrt(2 / fanIn) : 0;
    if (ratio < kLargeWeight) return {};
    return "its weight " + info.name + " begins " + core::formatShort(ratio) + " times as large as usual";
  }

  static std::string causeOfScores(EvaluationContext& context, const Node& product) {
    const core::Shape& shape = context.graph().tensor(product.inputs.front()).shape;
    const StatisticsRow* row =
        context.rows.now(context.rankWith(product.outputs.front()), product.outputs.front());
    if (!row || row->values.std < kLargeScores || shape.rank() == 0) return {};
    const std::string width = std::to_string(shape[shape.rank() - 1]);
    return "the scores " + product.name + " have the deviation " + core::formatShort(row->values.std) +
           ": scaling them by 1 / sqrt(" + width + "), the root of their width, is missing or not enough";
  }

  TensorId largestInput(EvaluationContext& context, const Node& node) const {
    TensorId largest = node.inputs.empty() ? TensorId() : node.inputs.front();  // drawn, or a range
    double most = -1;
    for (const TensorId input : node.inputs) {
      const core::TensorInfo& info = context.graph().tensor(input);
      const StatisticsRow* row = context.rows.now(context.rankWith(input), input);
      if (!row || info.role == core::TensorRole::kParameter || info.role == core::TensorRole::kConstant)
        continue;
      if (row->values.std > most) most = row->values.std, largest = input;
    }
    return largest;
  }

  Outcome m_outcome;
  std::vector<core::NodeId> m_nodes;
  bool m_asked = false;
  std::optional<Finding> m_finding;
  bool m_isPrior = false;  // it is about the same everywhere
};

}  // namespace

ConditionDef saturatedStartCondition() {
  ConditionDef def;
  def.id = "saturated_start";
  def.title = "Saturated from the start";
  def.doc =
      "In the first recorded iteration the output of a Tanh, of a Sigmoid or of the Softmax of an attention "
      "lies at "
      "the ends of its range: the root mean square of y (of 2 y - 1; the mean sum of squares of a row) is "
      "0.9 or more. "
      "A hint where the loss falls by 30 % all the same. Or, from the graph, an attention's scores are "
      "multiplied by the root of a width, where they are to be divided by it.";
  def.advice =
      "Look at what it reads: initial weights, data that are not normalised, scores without 1 / sqrt(width).";
  def.target = Target::kActivation;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<SaturatedStart>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
