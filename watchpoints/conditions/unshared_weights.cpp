// A recurrent cell that was written out step by step and makes its weights anew in each: a layer that is a
// function, called in the loop.
#include <map>
#include <set>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// A product with a weight, of a line that makes several.
struct Step {
  const Node* product;
  TensorId weight, slice;
};

/// The slice of another tensor that a product reads, past what only lays it beside others.
TensorId sliceReadBy(const Graph& graph, TensorId read) {
  static constexpr auto kSlices = std::to_array<std::string_view>({"Slice", "Split"});
  static constexpr auto kPasses = std::to_array<std::string_view>(
      {"Concat", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Cast", "Identity", "Dropout"});
  constexpr std::size_t kMost = 12;
  std::vector<TensorId> open{read};
  for (std::size_t i = 0; i < open.size() && i < kMost; ++i) {
    const Node* node = producerOf(graph, open[i]);
    if (isOneOf(node, kSlices)) return open[i];
    if (isOneOf(node, kPasses)) open.insert(open.end(), node->inputs.begin(), node->inputs.end());
  }
  return {};
}

/// By the line of the program and the weight's shape; in the order of the graph.
std::map<std::string, std::vector<Step>> stepsByLine(const Graph& graph) {
  static constexpr auto kProducts = std::to_array<std::string_view>({"Gemm", "MatMul"});
  std::map<std::string, std::vector<Step>> steps;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || !node.isOwn() || !isOneOf(&node, kProducts)) continue;
    const core::TensorInfo& weight = graph.tensor(node.inputs[1]);
    const core::Frame* line = graph.userFrame(node.frames);
    if (!line || weight.role != core::TensorRole::kParameter || !weight.trainable) continue;
    steps[line->file + ":" + std::to_string(line->line) + " " + weight.shape.text()].push_back(
        {&node, weight.id, sliceReadBy(graph, node.inputs[0])});
  }
  return steps;
}

/// Each with a weight of its own, and all with slices of one tensor.
bool areOfOneSequence(const Graph& graph, const std::vector<Step>& steps) {
  std::set<TensorId> weights, slices, sequences;
  for (const Step& step : steps) {
    if (!step.slice.valid()) return false;
    weights.insert(step.weight);
    slices.insert(step.slice);
    sequences.insert(producerOf(graph, step.slice)->inputs.front());
  }
  return weights.size() == steps.size() && slices.size() == steps.size() && sequences.size() == 1;
}

/// Whether what a step gives goes into what is made of the next one's: a state. Columns with a layer each are
/// only laid side by side.
bool carryState(const Graph& graph, const std::vector<Step>& steps) {
  const Node* last = nullptr;
  for (const Step& step : steps) {
    const auto users = graph.consumers(step.product->outputs.front());
    const auto forward = std::ranges::find(users, core::Phase::kForward,
                                           [&](core::NodeId id) { return graph.node(id).phase; });
    if (forward == users.end()) return false;
    const Node& user = graph.node(*forward);
    if (last && (last == &user || !madeFrom(graph, last->outputs.front())[user.outputs.front().index()]))
      return false;
    last = &user;
  }
  return true;
}

void question(EvaluationContext& context) {
  constexpr std::size_t kLeast = 4, kLooked = 4;
  const Graph& graph = context.graph();
  for (const auto& [line, steps] : stepsByLine(graph)) {
    if (steps.size() < kLeast || !areOfOneSequence(graph, steps)) continue;
    if (!carryState(graph, {steps.begin(), steps.begin() + kLooked})) continue;
    const core::TensorInfo& weight = graph.tensor(steps.front().weight);
    const Node& slice = *producerOf(graph, steps.front().slice);
    context.findings.push_back(findingAtNode(
        context, steps.front().product->id,
        std::to_string(steps.size()) + " weights " + weight.shape.text() + ", " + weight.name + " to " +
            graph.tensor(steps.back().weight).name + ", are made by one line, one for each slice of " +
            graph.tensor(slice.inputs.front()).name +
            ", and what one step gives goes into the next: a recurrent cell has the same weights in all"));
  }
}

}  // namespace

ConditionDef unsharedWeightsCondition() {
  ConditionDef def;
  def.id = "unshared_weights";
  def.title = "Weights of their own in each step";
  def.doc =
      "Of our engine, from the graph: one line of the program multiplies four slices of a tensor and more "
      "with a weight "
      "each, "
      "all of one shape, and what one step gives goes into the next.";
  def.advice =
      "Make the weights once, before the loop, and use them in each step: a layer such as linear() makes new "
      "ones whenever it is called.";
  def.severity = Severity::kHint;
  def.target = Target::kWeight;
  def.rowsOnly = true;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
