#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

std::optional<Signed> signedInput(const Graph& graph, const Node& node) {
  if (node.opType == "Neg") return Signed{node.inputs[0], true};
  if (node.opType == "Identity" || node.opType == "Cast" || node.opType == "Reshape" ||
      node.opType == "Squeeze" || node.opType == "ReduceMean" || node.opType == "ReduceSum")
    return Signed{node.inputs[0], false};
  if (node.opType == "Sub" && constantOf(graph, node.inputs[0])) return Signed{node.inputs[1], true};
  if ((node.opType == "aten.mul" || node.opType == "aten.div") && node.inputs.size() == 1) {
    const auto whole =
        foreignAttribute<std::int64_t>(node, "other", 0);  // a number of Python is an attribute
    const double factor = foreignAttribute(node, "other", static_cast<double>(whole));
    return factor != 0 ? std::optional(Signed{node.inputs[0], factor < 0}) : std::nullopt;
  }
  if (node.opType != "Mul" && node.opType != "Div") return std::nullopt;
  for (const std::size_t i : {1, 0}) {
    const std::optional<double> factor = constantOf(graph, node.inputs[i]);
    if (factor && *factor != 0 && (i == 1 || node.opType == "Mul"))
      return Signed{node.inputs[1 - i], *factor < 0};
  }
  return std::nullopt;
}

namespace {

/// Operators whose result is a distance: never below zero, and best at zero.
bool isDistance(const Node& node) {
  static constexpr auto kOfTorch = std::to_array<std::string_view>(
      {"aten.mse_loss", "aten.l1_loss", "aten.smooth_l1_loss", "aten.huber_loss", "aten.cross_entropy_loss",
       "aten.binary_cross_entropy", "aten.binary_cross_entropy_with_logits"});
  return node.opType == "SoftmaxCrossEntropyLoss" || node.opType == "Abs" ||
         node.opType == "ReduceSumSquare" || isOneOf(&node, kOfTorch) ||
         (node.opType == "Mul" && node.inputs.size() == 2 && node.inputs[0] == node.inputs[1]);
}

/// Whether an error may be maximised on purpose: one of two players has a loss of its own, and an attack
/// changes an input, not a module ("Adam/parameter0", says PyTorch's recorder).
bool hasOpponent(const Graph& graph) {
  int losses = 0;
  bool trainsModule = false;
  for (const core::TensorInfo& info : graph.tensors()) {
    losses += info.role == core::TensorRole::kLoss;
    if (!info.updateOf.valid()) continue;
    const Node* update = producerOf(graph, info.id);
    const std::string& name = graph.tensor(info.updateOf).name;
    const std::string loose = update->opType.substr(update->opType.rfind('.') + 1) + "/parameter";
    trainsModule = trainsModule || !name.starts_with(loose);
  }
  return losses > 1 || !trainsModule;
}

/// A loss that is minus a distance.
void checkDistance(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  if (!producerOf(graph, loss) || (!producerOf(graph, loss)->isOwn() && hasOpponent(graph))) return;
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

/// What a cross-entropy weighs with: a row of 0 and 1, probabilities of another model, or what the batch
/// brings.
bool isTarget(const Graph& graph, TensorId tensor) {
  const core::TensorRole role = graph.tensor(tensor).role;
  const Node* maker = makerOf(graph, tensor);
  return role == core::TensorRole::kLabel || role == core::TensorRole::kInput ||
         (maker && (maker->opType == "OneHot" || maker->opType == "Softmax"));
}

/// A mean of log-probabilities: training makes what it should raise as small as it can.
void checkLogProbability(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  const Node* node = producerOf(graph, loss);
  bool negative = false;
  const auto ofSoftmax = [&](const Node& log) {
    const Node* probability = probabilityOf(graph, log);
    return log.opType == "LogSoftmax" || (probability && probability->opType == "Softmax");
  };
  while (node && !ofSoftmax(*node)) {
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

/// What a factor of the data picks: the logarithm of a sigmoid, or of one minus that.
struct Picked {
  TensorId picker;  // invalid: it is something else
  const Node *log = nullptr, *sigmoid = nullptr;
};
Picked pickedBy(const Graph& graph, const std::vector<bool>& learnt, TensorId term) {
  const Node* product = makerOf(graph, term);
  if (!isProduct(product) || product->inputs.size() != 2) return {};
  for (const std::size_t i : {0, 1}) {
    const Node* log = makerOf(graph, product->inputs[i]);
    const Node* probability = log ? probabilityOf(graph, *log) : nullptr;
    if (probability && probability->opType != "Softmax" && !learnt[product->inputs[1 - i].index()])
      return {originOf(graph, product->inputs[1 - i]), log, probability};
  }
  return {};
}

/// Whether one is 1 - other.
bool isRestOf(const Graph& graph, TensorId rest, TensorId of) {
  const Node* node = producerOf(graph, rest);
  return node && (node->opType == "Sub" || node->opType == "aten.rsub") &&
         std::ranges::any_of(node->inputs, [&](TensorId input) { return originOf(graph, input) == of; });
}

/// Whether p stands in log(p) as often as not: the other way round it is log(1 - p).
bool isOfRest(const Graph& graph, const Picked& picked) {
  bool rest = false;
  for (const Node* node = makerOf(graph, picked.log->inputs.front()); node && node != picked.sigmoid;) {
    const bool subtracts = node->opType == "aten.rsub" ||
                           (node->opType == "Sub" && constantOf(graph, node->inputs[0]).has_value());
    rest = rest != subtracts;
    const bool first = node->inputs.size() > 1 && constantOf(graph, node->inputs[0]).has_value();
    node = makerOf(graph, node->inputs[first ? 1 : 0]);
  }
  return rest;
}

/// y log(p) + (1 - y) log(p): both answers are paid for the same.
void addSameForBoth(EvaluationContext& context, const Node& sum, const Picked& picked) {
  const bool rest = isOfRest(context.graph(), picked);
  const std::string right = rest ? "log(p)" : "log(1 - p)", wrong = rest ? "log(1 - p)" : "log(p)";
  Finding finding =
      findingAtNode(context, sum.id,
                    "y and 1 - y are both multiplied with " + wrong +
                        ": the loss does not depend on the answer, and training makes p the same for all");
  finding.advice = "One of the two belongs to " + right +
                   ": -(y log(p) + (1 - y) log(1 - p)), or use the binary cross-entropy of the logits.";
  context.findings.push_back(std::move(finding));
}

/// y log(p) + (1 - y) log(1 - p), a binary cross-entropy written by hand: without its minus, or with the same
/// logarithm twice.
void checkBinaryLikelihood(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  bool negative = false;
  const Node* node = producerOf(graph, loss);
  if (!node || (!node->isOwn() && hasOpponent(graph))) return;
  while (node && !isSum(node)) {
    const std::optional<Signed> next = signedInput(graph, *node);
    if (!next) return;
    negative = negative != next->negated;
    node = producerOf(graph, next->input);
  }
  if (!node || node->outputs.empty()) return;
  const std::vector<Summand> terms = summandsOf(graph, node->outputs.front());
  if (terms.size() != 2 || terms[0].subtracted != terms[1].subtracted) return;
  const std::vector<bool> learnt = learntTensors(graph);
  const Picked first = pickedBy(graph, learnt, terms[0].tensor),
               second = pickedBy(graph, learnt, terms[1].tensor);
  if (!first.picker.valid() || !second.picker.valid()) return;
  if (!isRestOf(graph, first.picker, second.picker) && !isRestOf(graph, second.picker, first.picker)) return;
  if (first.sigmoid == second.sigmoid && isOfRest(graph, first) == isOfRest(graph, second))
    return addSameForBoth(context, *node, first);
  if (negative != terms[0].subtracted) return;
  Finding finding =
      findingAtNode(context, node->id,
                    "the loss is the log-likelihood of the answers itself, y log(p) + (1 - y) log(1 - p): "
                    "training makes it as small as it can");
  finding.advice = "Put a minus before it, or use the binary cross-entropy of the logits.";
  context.findings.push_back(std::move(finding));
}

}  // namespace

void checkSign(EvaluationContext& context, TensorId loss) {
  checkDistance(context, loss);
  checkLogProbability(context, loss);
  checkBinaryLikelihood(context, loss);
  checkPolicySign(context, loss);
}

}  // namespace msdbg::watch
