#include <set>

#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

const Node* probabilityOf(const Graph& graph, const Node& log) {
  static constexpr auto kProbabilities =
      std::to_array<std::string_view>({"Softmax", "Sigmoid", "HardSigmoid"});
  static constexpr auto kGuards = std::to_array<std::string_view>(
      {"Clip", "Add", "Max", "Min", "Sub", "aten.add", "aten.sub", "aten.rsub"});
  constexpr int kMost = 4;
  if (log.opType != "Log") return nullptr;
  const Node* node = makerOf(graph, log.inputs.front());
  for (int steps = 0; steps < kMost && isOneOf(node, kGuards); ++steps) {
    // A number of Python's is an attribute, and its operator has one input.
    const bool alone = node->inputs.size() == 1,
               first = !alone && constantOf(graph, node->inputs[0]).has_value();  // 1 - p
    if (node->opType != "Clip" && !alone && !first && !constantOf(graph, node->inputs[1])) return nullptr;
    node = makerOf(graph, node->inputs[first ? 1 : 0]);
  }
  return isOneOf(node, kProbabilities) ? node : nullptr;
}

namespace {

enum class Taken { kSoftmax, kSigmoid };

struct Bad {
  std::string_view opType, detail;
  Severity severity = Severity::kFault;
};
constexpr std::array<Bad, 7> kOfSoftmax = {{
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
constexpr std::array<Bad, 4> kOfSigmoid = {{
    {"Sigmoid", "sigmoid is applied twice: the loss takes the logits and applies the sigmoid itself"},
    {"HardSigmoid", "HardSigmoid squashes the logits before the loss, which applies the sigmoid itself"},
    {"Softmax", "Softmax squashes the logits before the loss, which applies the sigmoid itself"},
    {"Relu", "Relu squashes the logits before the loss, which applies the sigmoid itself"},
}};

/// |x| as people write it: abs(x), or max(x, -x). Invalid: it is none.
TensorId magnitudeOf(const Graph& graph, TensorId tensor) {
  const Node* node = producerOf(graph, tensor);
  if (!node || node->inputs.empty()) return {};
  if (node->opType == "Abs") return node->inputs[0];
  if (node->opType != "Max" || node->inputs.size() != 2) return {};
  const Node* other = producerOf(graph, node->inputs[1]);
  const bool negated =
      other && (other->opType == "Neg" || other->opType == "Sub") && other->inputs.back() == node->inputs[0];
  return negated ? node->inputs[0] : TensorId();
}

/// x of -x, and of -|x|. Invalid: it is not negated.
TensorId negatedIn(const Graph& graph, TensorId tensor) {
  const Node* node = producerOf(graph, tensor);
  const bool zeroMinus = node && node->opType == "Sub" && constantOf(graph, node->inputs[0]) == 0.0;
  if (!node || (node->opType != "Neg" && !zeroMinus)) return {};
  const TensorId magnitude = magnitudeOf(graph, node->inputs.back());
  return magnitude.valid() ? magnitude : node->inputs.back();
}

/// exp(x) of log(exp(x) + 1). Invalid: it is none.
TensorId softplusByHand(const Graph& graph, const Node& log) {
  const Node* sum = log.opType == "Log" ? producerOf(graph, log.inputs[0]) : nullptr;
  if (!sum || sum->opType != "Add") return {};
  for (const std::size_t i : {0, 1}) {
    const Node* power = producerOf(graph, sum->inputs[i]);
    if (power && power->opType == "Exp" && constantOf(graph, sum->inputs[1 - i]) == 1.0)
      return power->inputs[0];
  }
  return {};
}

/// What a softmax by hand is of: exp(x), or exp(x - max(x)), that is summed. Invalid: it is none.
TensorId summedPower(const Graph& graph, const Node& sum) {
  const Node* power = sum.opType == "ReduceSum" ? producerOf(graph, sum.inputs[0]) : nullptr;
  if (!power || power->opType != "Exp") return {};
  const Node* shifted = producerOf(graph, power->inputs[0]);
  return shifted && shifted->opType == "Sub" ? shifted->inputs[0] : power->inputs[0];
}

class LogitsOfLoss {
 public:
  explicit LogitsOfLoss(EvaluationContext& context) : m_context(context), m_graph(context.graph()) {}

  void visit(const Node& node) {
    if (node.opType == "SoftmaxCrossEntropyLoss" || node.opType == "LogSoftmax")
      look(node.inputs[0], Taken::kSoftmax);
    if (node.opType == "aten.binary_cross_entropy_with_logits") look(node.inputs[0], Taken::kSigmoid);
    if (const TensorId x = summedPower(m_graph, node); x.valid()) lookSquashed(x, Taken::kSoftmax);
    if (const Node* probability = probabilityOf(m_graph, node))
      look(probability->inputs[0], probability->opType == "Softmax" ? Taken::kSoftmax : Taken::kSigmoid);
    const TensorId power = node.opType == "Softplus" ? node.inputs[0] : softplusByHand(m_graph, node);
    if (!power.valid()) return;
    // softplus(-x): what is left of -log(sigmoid(x)), which takes the logits themselves.
    const TensorId negated = negatedIn(m_graph, power);
    negated.valid() ? look(negated, Taken::kSigmoid) : lookSquashed(power, Taken::kSigmoid);
  }

  /// A loss of PyTorch whose operators are not recorded.
  void visitWhole(const Node& loss) {
    tell(loss, foreignAttribute<std::string>(loss, fact::kSoftmaxOf, ""), Taken::kSoftmax);
    tell(loss, foreignAttribute<std::string>(loss, fact::kSigmoidOf, ""), Taken::kSigmoid);
  }

 private:
  void look(TensorId logits, Taken taken) {
    const Node* maker = makerOf(m_graph, logits);
    if (maker) tell(*maker, maker->opType, taken);
  }

  void tell(const Node& at, std::string_view maker, Taken taken) {
    if (m_told.contains(at.id)) return;
    const std::span<const Bad> table =
        taken == Taken::kSoftmax ? std::span<const Bad>(kOfSoftmax) : kOfSigmoid;
    for (const Bad& bad : table) {
      if (maker != bad.opType) continue;
      Finding finding = findingAtNode(m_context, at.id, std::string(bad.detail));
      finding.severity = bad.severity;
      m_context.findings.push_back(std::move(finding));
      m_told.insert(at.id);
    }
  }

  /// Where the formula may be another one that is meant: only what makes a probability.
  void lookSquashed(TensorId logits, Taken taken) {
    static constexpr auto kSquashed = std::to_array<std::string_view>({"Sigmoid", "HardSigmoid", "Softmax"});
    if (isOneOf(makerOf(m_graph, logits), kSquashed)) look(logits, taken);
  }

  EvaluationContext& m_context;
  const Graph& m_graph;
  std::set<NodeId> m_told;
};

}  // namespace

void checkLogits(EvaluationContext& context) {
  LogitsOfLoss logits(context);
  for (const Node& node : context.graph().nodes())
    if (node.phase == core::Phase::kForward) {
      logits.visitWhole(node);
      if (!node.inputs.empty()) logits.visit(node);
    }
}

}  // namespace msdbg::watch
