// What the loss is made of, as the graph shows it: logits that were normalised or cut off already, a loss
// that is maximised, a target that is broadcast against what is predicted.
#include <algorithm>
#include <array>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

const Node* producerOf(const Graph& graph, TensorId tensor) {
  const NodeId producer = graph.tensor(tensor).producer;
  return producer.valid() ? &graph.node(producer) : nullptr;
}

/// The node that made the values, past what only changes their shape or type.
const Node* makerOf(const Graph& graph, TensorId tensor) {
  static constexpr std::array<std::string_view, 7> kShapes = {"Reshape", "Flatten",   "Squeeze", "Unsqueeze",
                                                              "Cast",    "Transpose", "Identity"};
  const Node* node = producerOf(graph, tensor);
  while (node && std::ranges::find(kShapes, node->opType) != kShapes.end())
    node = producerOf(graph, node->inputs.front());
  return node;
}

struct Bad {
  std::string_view opType, detail;
  Severity severity = Severity::kFault;
};
constexpr std::array<Bad, 7> kLogits = {{
    {"Softmax",
     "softmax is applied twice: the loss takes the softmax itself, of probabilities it can never be small"},
    {"LogSoftmax", "the loss takes the logarithm of the softmax itself; twice it is only slower",
     Severity::kHint},
    {"Sigmoid", "the logits are squashed into 0 to 1 before the softmax: the loss can never be small"},
    {"HardSigmoid", "the logits are squashed into 0 to 1 before the softmax: the loss can never be small"},
    {"Tanh", "the logits are squashed into -1 to 1 before the softmax: the loss can never be small"},
    {"Relu",
     "Relu cuts off the negative logits before the softmax: no class can be ruled out, and what is cut off "
     "has no gradient"},
    {"Clip", "the logits are clipped before the softmax: what is cut off has no gradient"},
}};

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

void checkLogits(EvaluationContext& context, const Node& loss) {
  const Node* maker = makerOf(context.graph(), loss.inputs.front());
  if (!maker) return;
  for (const Bad& bad : kLogits) {
    if (maker->opType != bad.opType) continue;
    Finding finding = findingAtNode(context, maker->id, std::string(bad.detail));
    finding.severity = bad.severity;
    context.findings.push_back(std::move(finding));
  }
}

/// softplus(-x): what is left of -log(sigmoid(x)), which takes the logits themselves.
void checkBinaryLogits(EvaluationContext& context, const Node& softplus) {
  static constexpr std::array<std::string_view, 4> kSquashed = {"Sigmoid", "HardSigmoid", "Softmax", "Relu"};
  const Node* negated = producerOf(context.graph(), softplus.inputs.front());
  if (!negated || negated->opType != "Neg") return;
  const Node* maker = makerOf(context.graph(), negated->inputs.front());
  if (!maker || std::ranges::find(kSquashed, maker->opType) == kSquashed.end()) return;
  context.findings.push_back(findingAtNode(
      context, maker->id,
      maker->opType == "Sigmoid"
          ? "sigmoid is applied twice: the loss takes the logits and applies the sigmoid itself"
          : maker->opType + " squashes the logits before the loss, which applies the sigmoid itself"));
}

std::optional<double> constantOf(const Graph& graph, TensorId tensor) {
  const core::TensorInfo& info = graph.tensor(tensor);
  const bool known = info.role == core::TensorRole::kConstant &&
                     (info.initializer.kind == core::Initializer::Kind::kConstant ||
                      info.initializer.kind == core::Initializer::Kind::kZeros);
  return known ? std::optional(info.initializer.value) : std::nullopt;
}

/// Whether the operator gives minus its other input (returned), or a positive multiple of it.
struct Signed {
  TensorId input;
  bool negated = false;
};
std::optional<Signed> signedInput(const Graph& graph, const Node& node) {
  if (node.opType == "Neg") return Signed{node.inputs[0], true};
  if (node.opType == "Identity" || node.opType == "Cast" || node.opType == "Reshape" ||
      node.opType == "Squeeze" || node.opType == "ReduceMean" || node.opType == "ReduceSum")
    return Signed{node.inputs[0], false};
  if (node.opType == "Sub" && constantOf(graph, node.inputs[0])) return Signed{node.inputs[1], true};
  if (node.opType != "Mul" && node.opType != "Div") return std::nullopt;
  for (const std::size_t i : {1, 0}) {
    const std::optional<double> factor = constantOf(graph, node.inputs[i]);
    if (factor && *factor != 0 && (i == 1 || node.opType == "Mul"))
      return Signed{node.inputs[1 - i], *factor < 0};
  }
  return std::nullopt;
}

/// Operators whose result is a distance: never below zero, and best at zero.
bool isDistance(const Node& node) {
  return node.opType == "SoftmaxCrossEntropyLoss" || node.opType == "Abs" ||
         node.opType == "ReduceSumSquare" ||
         (node.opType == "Mul" && node.inputs.size() == 2 && node.inputs[0] == node.inputs[1]);
}

/// A loss that is minus a distance.
void checkSign(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  const Node* node = producerOf(graph, loss);
  const Node* negates = nullptr;
  bool negative = false;
  while (node && !isDistance(*node)) {
    const std::optional<Signed> next = signedInput(graph, *node);
    if (!next) return;
    if (next->negated) negates = node, negative = !negative;
    node = producerOf(graph, next->input);
  }
  if (!node || !negative) return;
  context.findings.push_back(
      findingAtNode(context, negates->id,
                    "the loss is minus " + node->name + ": training makes the error as large as it can"));
}

/// Tensors that a parameter has a part in, by index.
std::vector<bool> learntTensors(const Graph& graph) {
  std::vector<bool> learnt(graph.tensors().size());
  for (const core::TensorInfo& info : graph.tensors())
    learnt[info.id.index()] = info.role == core::TensorRole::kParameter;
  for (const Node& node : graph.nodes()) {
    const bool any = std::ranges::any_of(node.inputs, [&](TensorId input) { return learnt[input.index()]; });
    for (const TensorId output : node.outputs) learnt[output.index()] = any;
  }
  return learnt;
}

/// What a cross-entropy weighs with: a row of 0 and 1, probabilities of another model, or what the batch
/// brings.
bool isTarget(const Graph& graph, TensorId tensor) {
  const core::TensorRole role = graph.tensor(tensor).role;
  const Node* maker = makerOf(graph, tensor);
  return role == core::TensorRole::kLabel || role == core::TensorRole::kInput ||
         (maker && (maker->opType == "OneHot" || maker->opType == "Softmax"));
}

/// log(softmax(x)), or of that and an epsilon.
bool isLogOfSoftmax(const Graph& graph, const Node& node) {
  if (node.opType != "Log") return false;
  const Node* of = makerOf(graph, node.inputs.front());
  if (of && (of->opType == "Add" || of->opType == "Clip")) of = makerOf(graph, of->inputs.front());
  return of && of->opType == "Softmax";
}

/// A mean of log-probabilities: training makes what it should raise as small as it can.
void checkLogProbability(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  const Node* node = producerOf(graph, loss);
  bool negative = false;
  while (node && node->opType != "LogSoftmax" && !isLogOfSoftmax(graph, *node)) {
    std::optional<Signed> next = signedInput(graph, *node);
    if (!next && node->opType == "Mul")  // picked by a one-hot row
      for (const std::size_t i : {0, 1})
        if (isTarget(graph, node->inputs[i])) next = Signed{node->inputs[1 - i], false};
    if (!next) return;
    negative = negative != next->negated;
    node = producerOf(graph, next->input);
  }
  if (!node || negative) return;
  const Node& last = *producerOf(graph, loss);
  context.findings.push_back(findingAtNode(context, last.id,
                                           "the loss is the log-probability of " + node->name +
                                               " itself: training makes it as small as it can; negate it"));
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
  const std::vector<bool> learnt = learntTensors(context.graph());
  for (const Node& node : context.graph().nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.empty()) continue;
    if (node.opType == "SoftmaxCrossEntropyLoss") checkLogits(context, node);
    if (node.opType == "Softplus") checkBinaryLogits(context, node);
    if (node.opType == "SoftmaxCrossEntropyLoss" || node.opType == "Sub") checkDropout(context, node, learnt);
    checkBroadcast(context, node, learnt);
  }
  for (const core::TensorInfo& info : context.graph().tensors())
    if (info.role == core::TensorRole::kLoss)
      checkSign(context, info.id), checkLogProbability(context, info.id);
}

}  // namespace

ConditionDef lossInputCondition() {
  ConditionDef def;
  def.id = "loss_input";
  def.title = "The loss is not what it should be";
  def.doc =
      "From the graph: the logits of a softmax cross-entropy come out of a Softmax, Sigmoid, Tanh, Relu or "
      "Clip, or what "
      "is compared with a target out of a Dropout; the loss is minus an error, so that it is maximised; what "
      "is "
      "predicted, [n, 1], and a target, [n], are broadcast to [n, n].";
  def.advice =
      "A loss is given what the last linear layer gives, in the shape of its target, and is what is to "
      "become small.";
  def.target = Target::kLoss;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
