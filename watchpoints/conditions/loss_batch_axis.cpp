#include "core_engine/base/text.h"
#include "watchpoints/conditions/batch_axis.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::Shape;
using core::TensorId;
using Kind = BatchPlace::Kind;

struct Compared {
  TensorId predicted, target;
};

/// What is learnt against what the batch brings; nullopt: the operator compares no such two.
std::optional<Compared> comparedBy(const Node& node, const std::vector<bool>& learnt) {
  static constexpr auto kCompare = std::to_array<std::string_view>({"SoftmaxCrossEntropyLoss", "Sub", "Mul"});
  if (node.phase != core::Phase::kForward || node.inputs.size() < 2 || !isOneOf(&node, kCompare))
    return std::nullopt;
  const TensorId a = node.inputs[0], b = node.inputs[1];
  if (learnt[a.index()] == learnt[b.index()]) return std::nullopt;
  return learnt[a.index()] ? Compared{a, b} : Compared{b, a};
}

/// The axis of what is predicted that meets the target's batch; nullopt: none, or it is broadcast.
std::optional<std::size_t> metBy(const Graph& graph, const Node& node, const Compared& compared,
                                 const BatchPlace& target) {
  const Shape &predicted = graph.tensor(compared.predicted).shape,
              &wanted = graph.tensor(compared.target).shape;
  if (!predicted.known() || !wanted.known()) return std::nullopt;
  std::size_t axis = target.axis;
  if (node.opType == "SoftmaxCrossEntropyLoss") {
    axis += axis > 0;  // behind the classes
  } else {
    if (axis + predicted.rank() < wanted.rank()) return std::nullopt;
    axis = axis + predicted.rank() - wanted.rank();
  }
  if (axis >= predicted.rank() || predicted[axis] != wanted[target.axis]) return std::nullopt;
  return axis;
}

std::string meeting(const Graph& graph, const Compared& compared, std::size_t axis) {
  const core::TensorInfo &predicted = graph.tensor(compared.predicted),
                         &target = graph.tensor(compared.target);
  return "axis " + std::to_string(axis) + " of " + predicted.fullName() + " " + predicted.shape.text() +
         " is compared with the samples of " + target.fullName() + " " + target.shape.text() +
         " and is none of them: it only has as many elements";
}

void addFinding(EvaluationContext& context, NodeId node, std::int64_t samples, const std::string& meeting) {
  const bool moves = context.graph().node(node).opType == "Transpose";
  Finding finding =
      findingAtNode(context, node,
                    std::string(moves ? "it moves the batch, of " : "it takes the batch away, of ") +
                        std::to_string(samples) + (moves ? " samples, to another axis" : " samples") +
                        "; in the loss " + meeting);
  finding.advice =
      "Axis 0 is the batch, as the loader brings it: reduce over time or features, and bring the batch back "
      "to the axis where the labels have it before the loss.";
  context.findings.push_back(std::move(finding));
}

}  // namespace

void checkBatchAxis(EvaluationContext& context, const std::vector<bool>& learnt) {
  const Graph& graph = context.graph();
  const BatchAxes axes(graph);
  if (axes.size() == 0) return;
  for (const Node& node : graph.nodes()) {
    const std::optional<Compared> compared = comparedBy(node, learnt);
    if (!compared) continue;
    const BatchPlace &predicted = axes.of(compared->predicted), &target = axes.of(compared->target);
    if (target.kind != Kind::kAt || !predicted.by.valid()) continue;
    const std::optional<std::size_t> met = metBy(graph, node, *compared, target);
    if (!met) continue;
    const bool elsewhere = predicted.axis != *met || predicted.inner != target.inner;
    if (predicted.kind == Kind::kGone || (predicted.kind == Kind::kAt && elsewhere))
      return addFinding(context, predicted.by, axes.size(), meeting(graph, *compared, *met));
  }
}

}  // namespace msdbg::watch
