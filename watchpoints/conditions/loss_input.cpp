// What the loss is made of, as the graph shows it: logits that were normalised or cut off already, a loss
// that is maximised, a target that is broadcast against what is predicted, an axis taken for the batch.
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// The model's output at random. Targets of a difference are not learnt.
void checkDropout(EvaluationContext& context, const Node& loss, const std::vector<bool>& learnt) {
  for (const TensorId input : loss.inputs) {
    const Node* maker = learnt[input.index()] ? makerOf(context.graph(), input) : nullptr;
    const bool compared = std::ranges::any_of(loss.inputs, [&](TensorId other) {
      return !learnt[other.index()] && context.graph().tensor(other).role != core::TensorRole::kConstant;
    });
    if (!maker || maker->opType != "Dropout" || !compared) continue;
    context.findings.push_back(findingAtNode(context, maker->id,
                                             "Dropout is the last of the model: what the loss is given is "
                                             "set to zero at random; put it before the "
                                             "last layer"));
  }
}

/// [n, 1] against [n] gives [n, n]: each prediction is compared with the target of every sample. What is
/// meant to be compared all with all has as many dimensions on both sides.
void checkBroadcast(EvaluationContext& context, const Node& node, const std::vector<bool>& learnt) {
  const Graph& graph = context.graph();
  static constexpr std::array<std::string_view, 6> kElementwise = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
  if (node.inputs.size() != 2 || std::ranges::find(kElementwise, node.opType) == kElementwise.end()) return;
  const TensorId a = node.inputs[0], b = node.inputs[1];
  if (learnt[a.index()] == learnt[b.index()]) return;
  const core::Shape &left = graph.tensor(a).shape, &right = graph.tensor(b).shape;
  const core::Shape& result = graph.tensor(node.outputs.front()).shape;
  if (!left.known() || !right.known() || !result.known() || left.rank() == right.rank()) return;
  if (left.elements() != right.elements() || result.elements() == left.elements()) return;
  const TensorId target = learnt[a.index()] ? b : a, predicted = learnt[a.index()] ? a : b;
  context.findings.push_back(findingAtNode(
      context, node.id,
      graph.tensor(predicted).fullName() + " " + graph.tensor(predicted).shape.text() + " and " +
          graph.tensor(target).fullName() + " " + graph.tensor(target).shape.text() + " are broadcast to " +
          result.text() +
          ": every prediction meets the target of every sample; reshape one to the shape of the other"));
}

void question(EvaluationContext& context) {
  checkLogits(context);
  const std::vector<bool> learnt = learntTensors(context.graph());
  for (const Node& node : context.graph().nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.empty()) continue;
    if (node.opType == "SoftmaxCrossEntropyLoss" || node.opType == "Sub") checkDropout(context, node, learnt);
    if (node.opType == "SoftmaxCrossEntropyLoss") checkOwnSimilarity(context, node);
    checkBroadcast(context, node, learnt);
  }
  checkBatchAxis(context, learnt);
  for (const core::TensorInfo& info : context.graph().tensors())
    if (info.role == core::TensorRole::kLoss) {
      checkSign(context, info.id);
      checkAccumulation(context, info.id);
    }
}

}  // namespace

ConditionDef lossInputCondition() {
  ConditionDef def;
  def.id = "loss_input";
  def.title = "The loss is not what it should be";
  def.doc =
      "From the graph: the logits of a cross-entropy, be it an operator or written by hand with Log, Exp or "
      "Softplus, come out of a Softmax, Sigmoid, Tanh, Relu or Clip; what is compared with a target out of a "
      "Dropout; the loss is minus an error, so that it is maximised; what is predicted, [n, 1], and a "
      "target, [n], are broadcast to [n, n]; the axis that meets the samples of the labels is not the batch, "
      "which an operator before took away or moved; it is divided by as many iterations as the trainer "
      "averages over; samples are told apart from all others and from themselves.";
  def.advice =
      "A loss is given what the last linear layer gives, in the shape of its target, and is what is to "
      "become small.";
  def.target = Target::kLoss;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
