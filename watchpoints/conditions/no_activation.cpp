// Two linear layers with nothing between them can do no more than one.
#include <algorithm>
#include <array>
#include <set>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/outcome.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// x * weight, a parameter of two dimensions.
bool isLinear(const Graph& graph, const Node& node) {
  if (node.phase != core::Phase::kForward || (node.opType != "Gemm" && node.opType != "MatMul")) return false;
  const core::TensorInfo& weight = graph.tensor(node.inputs[1]);
  return isWeight(weight) && weight.shape.rank() == 2 && weight.shape.known();
}

std::int64_t widthOfInput(const Graph& graph, const Node& layer) {
  const bool transposed = core::intAttribute(layer.attributes, "transB", 0) != 0;
  return graph.tensor(layer.inputs[1]).shape[transposed ? 1 : 0];
}
std::int64_t widthOfOutput(const Graph& graph, const Node& layer) {
  const bool transposed = core::intAttribute(layer.attributes, "transB", 0) != 0;
  return graph.tensor(layer.inputs[1]).shape[transposed ? 0 : 1];
}

/// Whether the operator adds a bias, drops elements or changes the shape: it stays linear.
bool staysLinear(const Graph& graph, const Node& node) {
  static constexpr std::array<std::string_view, 6> kTypes = {"Reshape",   "Flatten",  "Squeeze",
                                                             "Unsqueeze", "Identity", "Dropout"};
  if (node.opType == "Add") return graph.tensor(node.inputs[1]).role == core::TensorRole::kParameter;
  return std::ranges::find(kTypes, node.opType) != kTypes.end();
}

std::size_t forwardConsumers(const Graph& graph, TensorId tensor) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.consumers(tensor), [&](core::NodeId user) {
    return graph.node(user).phase == core::Phase::kForward;
  }));
}

/// The layer whose result the layer reads as it is, and nobody else does; nullptr: there is none.
const Node* layerBefore(const Graph& graph, const Node& layer) {
  for (TensorId tensor = layer.inputs.front();;) {
    const core::NodeId producer = graph.tensor(tensor).producer;
    if (!producer.valid() || forwardConsumers(graph, tensor) != 1) return nullptr;
    const Node& node = graph.node(producer);
    if (isLinear(graph, node)) return &node;
    if (!staysLinear(graph, node)) return nullptr;
    tensor = node.inputs.front();
  }
}

/// What the layer gives are the scores of an attention, by a query that is learnt: a softmax makes weights of
/// them that multiply something.
bool givesScores(const Graph& graph, const Node& layer) {
  static constexpr std::array<std::string_view, 6> kOnTheWay = {"Div", "Mul",   "Add",
                                                                "Sub", "Where", "Transpose"};
  static constexpr std::array<std::string_view, 3> kWeigh = {"MatMul", "Mul", "Gemm"};
  bool weights = false;
  TensorId tensor = layer.outputs.front();
  for (int steps = 0; steps < 12; ++steps) {
    const Node* next = nullptr;
    for (const core::NodeId user : graph.consumers(tensor))
      if (graph.node(user).phase == core::Phase::kForward) next = &graph.node(user);
    if (!next) return false;
    if (weights && std::ranges::find(kWeigh, next->opType) != kWeigh.end()) return true;
    if (next->opType == "Softmax") weights = true;
    const bool passes = next->opType == "Softmax" || staysLinear(graph, *next) ||
                        std::ranges::find(kOnTheWay, next->opType) != kOnTheWay.end();
    if (!passes) return false;
    tensor = next->outputs.front();
  }
  return false;
}

/// Whether nothing between data and loss is more than linear, normalisations and products of what is learnt
/// included.
bool isAllLinear(const Graph& graph) {
  static constexpr std::array<std::string_view, 12> kLinear = {
      "Gemm",    "MatMul",  "Add",       "Sub",      "Neg",     "Reshape",
      "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Transpose"};
  std::vector<bool> learnt(graph.tensors().size());
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    const bool linear = std::ranges::find(kLinear, node.opType) != kLinear.end();
    const bool any = isLinear(graph, node) ||
                     std::ranges::any_of(node.inputs, [&](TensorId input) { return learnt[input.index()]; });
    const bool compared = std::ranges::any_of(
        node.inputs, [&](TensorId input) { return graph.tensor(input).role == core::TensorRole::kLabel; });
    if (any && compared) continue;  // from here on it is the loss
    if (any && !linear) return false;
    for (const TensorId output : node.outputs) learnt[output.index()] = any;
  }
  return true;
}

class NoActivation : public Evaluator {
 public:
  explicit NoActivation(const Graph& graph) : m_outcome(graph) {}

  void evaluate(EvaluationContext& context) override {
    m_outcome.add(context);
    if (m_asked || context.ranks.empty()) return;
    m_asked = true;
    lookAt(context);
  }

  void finish(EvaluationContext& context) override {
    if (m_findings.empty()) return;
    const bool fault = !m_outcome.losses().empty() && isAllLinear(context.graph()) &&
                       !m_outcome.recoveredSince(m_outcome.losses().front().iteration);
    for (Finding& finding : m_findings) {
      if (fault) finding.severity = Severity::kFault;
      context.findings.push_back(std::move(finding));
    }
  }

 private:
  void lookAt(EvaluationContext& context) {
    const Graph& graph = context.graph();
    std::set<core::FrameId> lines;  // a layer that is called several times is one mistake
    for (const Node& layer : graph.nodes()) {
      if (!isLinear(graph, layer)) continue;
      const Node* before = layerBefore(graph, layer);
      if (!before || givesScores(graph, layer)) continue;
      const std::int64_t between = widthOfInput(graph, layer);
      // Narrower than both ends it is a product of low rank, and meant.
      if (between < std::min(widthOfInput(graph, *before), widthOfOutput(graph, layer))) continue;
      if (!layer.frames.empty() && !lines.insert(lineOf(graph, layer)).second) continue;
      ++context.evaluated;
      m_findings.push_back(
          findingAtNode(context, layer.id,
                        "it reads " + before->name +
                            " with no activation function between them: both together are one linear layer"));
    }
  }

  /// Its innermost frame outside the engine's own layers.
  static core::FrameId lineOf(const Graph& graph, const Node& node) {
    for (const core::FrameId frame : node.frames)
      if (!graph.frame(frame).engine) return frame;
    return node.frames.front();
  }

  Outcome m_outcome;
  bool m_asked = false;
  std::vector<Finding> m_findings;
};

}  // namespace

ConditionDef noActivationCondition() {
  ConditionDef def;
  def.id = "no_activation";
  def.title = "No activation between layers";
  def.doc =
      "From the graph: a Gemm or MatMul by a weight reads the result of another one, which nobody else "
      "reads, "
      "through nothing but biases, Dropout and other shapes. Products of low rank (narrower between than at "
      "both ends) and the scores of an attention are left out. A fault where nothing in the model is more "
      "than linear and the loss does not "
      "fall by 30 %.";
  def.advice = "Put relu(), tanh() or another activation function between the two, or leave one of them out.";
  def.severity = Severity::kHint;
  def.make = [](const core::Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<NoActivation>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
