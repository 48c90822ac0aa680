// What the loss is made of, as the graph shows it: logits that were normalised or cut off already, a loss
// that is maximised, a target that is broadcast against what is predicted, an axis taken for the batch.
#include <algorithm>

#include "core_engine/base/text.h"
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

/// The shape of a tensor that has another one, even of another rank, in other iterations: as many elements as
/// there are now, beside `other`, give a result of [n, n] in one way only.
core::Shape fitted(EvaluationContext& context, TensorId tensor, const core::Shape& other,
                   const core::Shape& result) {
  const core::Shape& shape = context.graph().tensor(tensor).shape;
  if (shape.known() || shape.rank() != 1 || result.rank() != 2 || result[0] != result[1]) return shape;
  const StatisticsRow* row = context.rows.now(context.rankWith(tensor), tensor);
  if (!row || row->values.count != result[0]) return shape;
  return other.rank() == 1 ? core::Shape{result[0], 1} : core::Shape{result[0]};
}

/// What NumPy's broadcasting makes of two shapes. Where that is not what an operator of PyTorch made, it
/// reads views, of other shapes than what is recorded of it.
bool gives(const core::Shape& a, const core::Shape& b, const core::Shape& result) {
  if (result.rank() != std::max(a.rank(), b.rank())) return false;
  const auto at = [&](const core::Shape& shape, std::size_t fromEnd) {
    return fromEnd <= shape.rank() ? shape[shape.rank() - fromEnd] : 1;
  };
  for (std::size_t i = 1; i <= result.rank(); ++i) {
    const std::int64_t x = at(a, i), y = at(b, i);
    if ((x != y && x != 1 && y != 1) || result[result.rank() - i] != std::max(x, y)) return false;
  }
  return true;
}

/// Elements in this iteration, where the shape varies: a last batch may be a smaller one. 0: nobody knows.
std::int64_t elementsOf(EvaluationContext& context, TensorId tensor) {
  const core::Shape& shape = context.graph().tensor(tensor).shape;
  if (shape.known()) return shape.elements();
  const StatisticsRow* row = context.rows.now(context.rankWith(tensor), tensor);
  return row ? row->values.count : 0;
}

/// Whether n and n elements give n * n.
bool isPairs(EvaluationContext& context, TensorId a, TensorId b, TensorId result) {
  const std::int64_t n = elementsOf(context, a);
  return n > 1 && elementsOf(context, b) == n && elementsOf(context, result) == n * n;
}

/// [n, 1] against [n] gives [n, n]: each prediction is compared with the target of every sample. What is
/// meant to be compared all with all has as many dimensions on both sides.
void checkBroadcast(EvaluationContext& context, const Node& node, const std::vector<bool>& learnt) {
  const Graph& graph = context.graph();
  static constexpr auto kElementwise = std::to_array<std::string_view>(
      {"Add", "Sub", "Mul", "Div", "Max", "Min", "aten.add", "aten.sub", "aten.mul", "aten.div"});
  if (node.inputs.size() != 2 || std::ranges::find(kElementwise, node.opType) == kElementwise.end()) return;
  const TensorId a = node.inputs[0], b = node.inputs[1];
  if (learnt[a.index()] == learnt[b.index()]) return;
  const core::Shape& result = graph.tensor(node.outputs.front()).shape;
  const core::Shape left = fitted(context, a, graph.tensor(b).shape, result),
                    right = fitted(context, b, left, result);
  if (left.rank() == right.rank()) return;
  if (left.known() && right.known() && result.known()) {
    if (left.elements() != right.elements() || result.elements() == left.elements()) return;
    if (!gives(left, right, result)) return;
  } else if (!isPairs(context, a, b, node.outputs.front())) {
    return;
  }
  const TensorId target = learnt[a.index()] ? b : a, predicted = learnt[a.index()] ? a : b;
  context.findings.push_back(findingAtNode(
      context, node.id,
      graph.tensor(predicted).fullName() + " " + (predicted == a ? left : right).text() + " and " +
          graph.tensor(target).fullName() + " " + (target == a ? left : right).text() + " are broadcast to " +
          result.text() +
          ": every prediction meets the target of every sample; reshape one to the shape of the other"));
}

/// The same where the loss is one operator, which reads the two as they are: its gradient, of as many
/// elements as were compared, tells.
void checkBroadcastLoss(EvaluationContext& context, const Node& gradient, const std::vector<bool>& learnt) {
  static constexpr auto kLosses = std::to_array<std::string_view>(
      {"aten.mse_loss", "aten.smooth_l1_loss", "aten.huber_loss", "aten.l1_loss"});
  if (gradient.phase != core::Phase::kBackward || !gradient.derivedFrom.valid() || gradient.outputs.empty())
    return;
  const Graph& graph = context.graph();
  const Node& loss = graph.node(gradient.derivedFrom);
  if (!isOneOf(&loss, kLosses) || loss.inputs.size() != 2 || !gradient.opType.ends_with("_loss_backward"))
    return;
  const TensorId a = loss.inputs[0], b = loss.inputs[1];
  const core::Shape &left = graph.tensor(a).shape, &right = graph.tensor(b).shape,
                    &compared = graph.tensor(gradient.outputs.front()).shape;
  const bool known = left.known() && right.known() && compared.known();
  if (learnt[a.index()] == learnt[b.index()]) return;
  if (known && (left.elements() != right.elements() || compared.elements() <= left.elements())) return;
  if (!known && !isPairs(context, a, b, gradient.outputs.front())) return;
  const TensorId target = learnt[a.index()] ? b : a, predicted = learnt[a.index()] ? a : b;
  context.findings.push_back(findingAtNode(
      context, loss.id,
      graph.tensor(predicted).fullName() + " " + graph.tensor(predicted).shape.text() + " and " +
          graph.tensor(target).fullName() + " " + graph.tensor(target).shape.text() + " are broadcast to " +
          compared.text() +
          ": every prediction meets the target of every sample; reshape one to the shape of the other"));
}

/// The same where no operator is recorded. A difference that is written by hand may be meant so.
void checkBroadcastWhole(EvaluationContext& context, const Node& loss) {
  for (const bool byHand : {false, true}) {
    const auto shape =
        foreignAttribute<std::string>(loss, byHand ? fact::kBroadcastByHand : fact::kBroadcast, "");
    if (shape != "column" && shape != "row") continue;
    Finding finding = findingAtNode(
        context, loss.id,
        std::string("the loss compares ") +
            (shape == "column" ? "a prediction [n, 1] with a target [n]"
                               : "a prediction [n] with a target [n, 1]") +
            ", which are broadcast to [n, n]: every prediction meets the target of every sample");
    finding.advice = "Reshape one to the shape of the other: target.unsqueeze(1), or prediction.squeeze(1).";
    if (byHand) finding.severity = Severity::kHint;
    context.findings.push_back(std::move(finding));
  }
}

/// nll_loss and ctc_loss are given logarithms of probabilities, and none of those is above zero.
void checkLogProbabilities(EvaluationContext& context, const Node& node) {
  const Graph& graph = context.graph();
  static constexpr auto kTakers =
      std::to_array<std::string_view>({"aten.nll_loss_forward", "aten.nll_loss2d_forward", "aten._ctc_loss"});
  if (!isOneOf(&node, kTakers)) return;
  const bool ctc = node.opType == "aten._ctc_loss";
  const Node* maker = makerOf(graph, node.inputs.front());
  if (maker && maker->opType == "LogSoftmax") return;
  const StatisticsRow* row = context.rows.now(context.rankWith(node.inputs.front()), node.inputs.front());
  constexpr double kRounding = 1e-3;
  if (!row || row->values.nonFinite() > 0 || row->values.max <= kRounding) return;
  const bool probabilities = row->values.min >= 0 && row->values.max <= 1 + kRounding;
  context.findings.push_back(findingAtNode(
      context, node.id,
      graph.tensor(node.inputs.front()).fullName() + " reaches " + core::formatShort(row->values.max) + ": " +
          (probabilities ? "probabilities" : "scores") + " where " + (ctc ? "ctc_loss" : "nll_loss") +
          " takes their logarithms, so that the loss falls below zero; use " +
          (ctc ? "" : "F.cross_entropy of the logits, or ") + "F.log_softmax"));
}

/// The input of kl_div(input, target), as PyTorch computes it: xlogy(target, target) - target * input, or
/// exp(target) * (target - input). Invalid: it is none.
TensorId divergenceInput(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return {};
  const Node *first = makerOf(graph, node.inputs[0]), *second = makerOf(graph, node.inputs[1]);
  if (!first || !second || second->inputs.size() != 2) return {};
  if (node.opType == "Sub" && second->opType == "Mul" && first->opType == "aten.xlogy")
    for (const std::size_t i : {0, 1})
      if (second->inputs[i] == first->inputs[0] && first->inputs[0] == first->inputs[1])
        return second->inputs[1 - i];
  if (node.opType == "Mul" && second->opType == "Sub" && first->opType == "Exp" &&
      first->inputs[0] == second->inputs[0])
    return second->inputs[1];
  return {};
}

/// kl_div is given the logarithms of the model's probabilities, too.
void checkDivergence(EvaluationContext& context, const Node& node) {
  const Graph& graph = context.graph();
  const TensorId input = divergenceInput(graph, node);
  if (!input.valid()) return;
  const Node* maker = makerOf(graph, input);
  if (!maker || (maker->opType != "Softmax" && maker->opType != "Sigmoid")) return;
  Finding finding =
      findingAtNode(context, node.id,
                    graph.tensor(input).fullName() +
                        " are probabilities, where kl_div takes their logarithms: the loss is no divergence");
  finding.writtenAt = maker->outputs.front();
  finding.advice =
      "Give F.kl_div the F.log_softmax(…) as its input; the target stays a softmax unless log_target=True.";
  context.findings.push_back(std::move(finding));
}

/// z + (q - z) is q: the straight-through estimator without its detach(). With it the gradient of the
/// difference is computed nowhere.
void checkStraightThrough(EvaluationContext& context, const Node& node) {
  const Graph& graph = context.graph();
  if (node.opType != "Add" || node.inputs.size() != 2) return;
  for (const std::size_t i : {0, 1}) {
    const TensorId z = node.inputs[i];
    const Node* difference = producerOf(graph, node.inputs[1 - i]);
    if (!difference || difference->opType != "Sub" || difference->inputs.size() != 2 ||
        difference->inputs[1] != z || !differentiatedNodes(graph)[difference->id.index()])
      continue;
    Finding finding = findingAtNode(context, node.id,
                                    graph.tensor(z).fullName() +
                                        " is added to a difference that subtracts it: it cancels, in the "
                                        "value and in its gradient, so that no gradient flows back to it");
    finding.advice = "A straight-through estimator is z + (q - z).detach().";
    return context.findings.push_back(std::move(finding));
  }
}

void question(EvaluationContext& context) {
  checkLogits(context);
  const std::vector<bool> learnt = learntTensors(context.graph());
  const std::vector<bool> differentiated = differentiatedTensors(context.graph());
  for (const Node& node : context.graph().nodes()) {
    checkBroadcastLoss(context, node, differentiated);
    if (node.phase == core::Phase::kForward) checkBroadcastWhole(context, node);
    if (node.phase != core::Phase::kForward || node.inputs.empty()) continue;
    if (node.opType == "SoftmaxCrossEntropyLoss" || node.opType == "Sub") checkDropout(context, node, learnt);
    if (node.opType == "SoftmaxCrossEntropyLoss") checkOwnSimilarity(context, node);
    checkBroadcast(context, node, differentiated);
    checkLogProbabilities(context, node);
    checkDivergence(context, node);
    checkStraightThrough(context, node);
    checkOverlap(context, node, learnt);
    checkDice(context, node, learnt);
    checkDensity(context, node, learnt);
  }
  checkBatchAxis(context, learnt);
  checkTimeAxis(context);
  checkLabels(context);
  for (const core::TensorInfo& info : context.graph().tensors())
    if (info.role == core::TensorRole::kLoss) {
      checkSign(context, info.id);
      checkBelowZero(context, info.id);
      checkAccumulation(context, info.id);
      checkReductions(context, info.id);
      checkTarget(context, info.id);
      checkExponentSign(context, info.id, learnt);
      checkNumbers(context, info.id, learnt);
      checkDivergenceSign(context, info.id);
    }
}

}  // namespace

ConditionDef lossInputCondition() {
  ConditionDef def;
  def.id = "loss_input";
  def.title = "The loss is not what it should be";
  def.doc =
      "From the graph: the logits of a cross-entropy, be it an operator or written by hand with Log, Exp or "
      "Softplus, come out of a Softmax, Sigmoid, Tanh, Relu or Clip; what is compared with a target out of "
      "a Dropout; the loss is minus an error, so that it is maximised, or a binary cross-entropy without its "
      "minus; what is predicted, [n, 1], and a "
      "target, [n], are broadcast to [n, n]; the axis that meets the samples of the labels is not the "
      "batch, which an operator before took away or moved, or a recurrent layer or self-attention took for "
      "time; a recurrent layer carries its state from one shuffled batch to the next; its classes are laid "
      "end "
      "to end in another order than the rows that they are the answers of; it is divided by as many "
      "iterations as the trainer averages over; samples are told apart from "
      "all others and from themselves; kl_div is given probabilities, not their logarithms, or nll_loss or a "
      "CTC loss, which tells by being "
      "below zero; a "
      "straight-through estimator, z + (q - z), is not detached; the labels are the tokens two places on, "
      "or count padding (a hint); a term that is a sum over samples is added to one that is a mean (a "
      "hint); indices of maxima are added to numbers; the mean of differences is squared (a hint); a sum "
      "over the samples is added to the number of each; no gradient goes through one of its terms; a CTC "
      "loss is given labels that are its blank; an overlap of areas (Dice, IoU) is given what comes straight "
      "out of a layer; the sides of an overlap of boxes are multiplied below zero, "
      "or "
      "the area of boxes of the batch is; "
      "a squared error is divided by what stands "
      "beside it in the same sum, where the density of a normal distribution has its logarithm, or "
      "probabilities stand in a logsumexp for their logarithms (hints); a gradient goes back through what "
      "stands as the target, be it a teacher that nothing else in the loss holds, or the largest next value "
      "of "
      "the same parameters (hints); the logarithm of a scale stands in it with the same sign as in the "
      "exponential "
      "that scales what is squared (a hint); it is nothing but the cosine of two results of one network, "
      "with a "
      "gradient through both (a hint).";
  def.advice =
      "A loss is given what the last linear layer gives, in the shape of its target, and is what is to "
      "become small.";
  def.target = Target::kLoss;
  def.rowsOnly = true;
  def.make = [](const core::Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
