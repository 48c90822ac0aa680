// Targets that the model cannot reach: outside of what its last activation gives, or of the classes that a
// one-hot row has.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/binary_targets.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

struct Reach {
  std::string_view opType;
  double least, most;
};
constexpr std::array<Reach, 5> kReaches = {
    {{"Relu", 0, INFINITY}, {"Sigmoid", 0, 1}, {"HardSigmoid", 0, 1}, {"Softmax", 0, 1}, {"Tanh", -1, 1}}};

/// prediction - target, where the prediction comes out of an activation function.
struct Difference {
  NodeId node;
  Reach reach;
  TensorId target;
};

class TargetRange : public Evaluator {
 public:
  explicit TargetRange(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.phase != core::Phase::kForward) continue;
      if (node.opType == "OneHot" && isData(graph, originOf(graph, node.inputs.front())))
        m_oneHots.push_back(node.id);
      if (node.opType == "Sub") addDifference(graph, node);
      addLoss(graph, node);
    }
    for (const BinaryTarget& binary : binaryTargets(graph))
      m_differences.push_back({binary.node, {"binary cross-entropy", 0, 1}, binary.target});
    for (const core::TensorInfo& info : graph.tensors())
      if (info.role == core::TensorRole::kLoss)
        if (const std::optional<NeverBelowZero> never = neverBelowZero(graph, info.id);
            never && never->binary)
          m_binaryLosses.emplace_back(info.id, *never);
  }

  void evaluate(EvaluationContext& context) override {
    for (const core::Rank rank : context.ranks) {
      for (const NodeId node : m_oneHots) lookAtClasses(context, rank, node);
      for (const Difference& difference : m_differences) lookAtTarget(context, rank, difference);
      for (const auto& [loss, never] : m_binaryLosses) lookAtLoss(context, rank, loss, never);
    }
  }

 private:
  static constexpr std::int64_t kIgnored = 255;  // by custom the class of what is not to count
  static constexpr double kSlack = 0.05;         // of the target's spread: a little beyond is noise

  void addDifference(const Graph& graph, const Node& node) {
    for (const std::size_t i : {0, 1}) {
      const TensorId target = originOf(graph, node.inputs[1 - i]),
                     predicted = originOf(graph, node.inputs[i]);
      if (!isData(graph, target) || !graph.tensor(predicted).producer.valid()) continue;
      const Node& maker = graph.node(graph.tensor(predicted).producer);
      const auto reach = std::ranges::find(kReaches, maker.opType, &Reach::opType);
      if (reach != kReaches.end()) m_differences.push_back({maker.id, *reach, target});
    }
  }

  /// A loss of PyTorch that is one operator, of what is predicted and a target.
  void addLoss(const Graph& graph, const Node& node) {
    static constexpr auto kDistances = std::to_array<std::string_view>(
        {"aten.mse_loss", "aten.l1_loss", "aten.smooth_l1_loss", "aten.huber_loss"});
    if (node.inputs.size() < 2) return;
    const TensorId target = originOf(graph, node.inputs[1]);
    const Node* maker =
        isOneOf(&node, kDistances) && isData(graph, target) ? makerOf(graph, node.inputs[0]) : nullptr;
    const auto reach = maker ? std::ranges::find(kReaches, maker->opType, &Reach::opType) : kReaches.end();
    if (reach != kReaches.end()) m_differences.push_back({maker->id, *reach, target});
  }

  void lookAtClasses(EvaluationContext& context, core::Rank rank, NodeId id) {
    const Node& node = context.graph().node(id);
    const TensorId indices = originOf(context.graph(), node.inputs.front());
    const StatisticsRow* row = context.rows.now(rank, indices);
    if (!row || m_told.contains(id)) return;
    ++context.evaluated;
    const std::int64_t depth = core::intAttribute(node.attributes, "depth", 0);
    if (row->values.max < static_cast<double>(depth)) return;
    if (row->values.max == kIgnored && depth <= kIgnored / 2) return;
    tell(context, rank, id, row->values.max, static_cast<double>(depth - 1),
         context.graph().tensor(indices).name + " reaches " + core::formatShort(row->values.max) +
             ", but a row of " + std::to_string(depth) + " ends at " + std::to_string(depth - 1) +
             ": the rows of larger ones are all zero");
  }

  void lookAtTarget(EvaluationContext& context, core::Rank rank, const Difference& difference) {
    const StatisticsRow* row = context.rows.now(rank, difference.target);
    if (!row || row->values.nonFinite() > 0 || m_told.contains(difference.node)) return;
    ++context.evaluated;
    const double slack = kSlack * (row->values.max - row->values.min);
    const bool low =
        row->values.min<difference.reach.least - slack, high = row->values.max> difference.reach.most + slack;
    if (!low && !high) return;
    const std::string range = difference.reach.opType == "Relu"
                                  ? "nothing below 0"
                                  : "only " + core::formatShort(difference.reach.least) + " to " +
                                        core::formatShort(difference.reach.most);
    const bool ofClasses = difference.reach.opType == "binary cross-entropy";
    tell(context, rank, difference.node, low ? row->values.min : row->values.max,
         low ? difference.reach.least : difference.reach.most,
         context.graph().tensor(difference.target).name + " lies from " + core::formatShort(row->values.min) +
             " to " + core::formatShort(row->values.max) +
             (ofClasses
                  ? ", but a binary cross-entropy takes probabilities, 0 to 1, and has no least value beyond"
                  : ", but " + std::string(difference.reach.opType) + ", the last of the model, gives " +
                        range),
         ofClasses ? kBinaryAdvice : "");
  }

  /// Where the values of the target are not recorded.
  void lookAtLoss(EvaluationContext& context, core::Rank rank, TensorId loss, const NeverBelowZero& never) {
    if (m_told.contains(never.node) || (never.given.valid() && context.rows.now(rank, never.given))) return;
    const std::optional<double> value = belowZero(context, rank, loss);
    ++context.evaluated;
    if (value)
      tell(context, rank, never.node, *value, 0,
           "the loss is " + core::formatShort(*value) + ", and " + never.why, never.advice);
  }

  void tell(EvaluationContext& context, core::Rank rank, NodeId node, double actual, double preset,
            std::string detail, std::string advice = "") {
    m_told.insert(node);
    Finding finding = findingAtNode(context, node, std::move(detail));
    finding.rank = rank;
    finding.actual = actual;
    finding.preset = preset;
    finding.advice = std::move(advice);
    context.findings.push_back(std::move(finding));
  }

  std::vector<NodeId> m_oneHots;
  std::vector<Difference> m_differences;
  std::vector<std::pair<TensorId, NeverBelowZero>> m_binaryLosses;
  std::set<NodeId> m_told;
};

}  // namespace

ConditionDef targetRangeCondition() {
  ConditionDef def;
  def.id = "target_range";
  def.title = "Targets out of reach";
  def.doc =
      "A target that the prediction is subtracted from lies outside of what the model's last activation "
      "gives (below 0 of a Relu, outside 0 to 1 of a Sigmoid or Softmax, -1 to 1 of a Tanh), or the target "
      "of a binary cross-entropy outside 0 to 1, which its loss tells too by being below zero; or a class is "
      "beyond the depth of the OneHot that "
      "it goes through, so that its row is all zero.";
  def.advice =
      "End a regression in a linear layer, or scale the targets; give oneHot() and the last layer as many "
      "classes as the labels have.";
  def.target = Target::kLoss;
  def.rowsOnly = true;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<TargetRange>(graph);
  };
  return def;
}

}  // namespace msdbg::watch
