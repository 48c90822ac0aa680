// A tensor and its own sums, means or extremes over an axis that was not kept, and values of samples that
// meet the features: broadcasting lays them along another axis where two axes happen to be as long.
#include <algorithm>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/unit_vectors.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::Shape;
using core::TensorId;

constexpr auto kOfTwo = std::to_array<std::string_view>({"Div", "Sub", "Mul", "Add"});
constexpr auto kReductions = std::to_array<std::string_view>(
    {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare"});

/// Before operators that work element by element on one tensor, with numbers beside it.
TensorId beforeElementwise(const Graph& graph, TensorId tensor) {
  static constexpr auto kPast =
      std::to_array<std::string_view>({"Sqrt", "Add", "Sub", "Mul", "Div", "Max", "Clip", "Exp", "Log", "Neg",
                                       "Cast", "Sin", "Cos", "Pow", "Abs"});
  constexpr int kFar = 6;
  for (int steps = 0; steps < kFar; ++steps) {
    const Node* node = producerOf(graph, tensor);
    if (!isOneOf(node, kPast)) break;
    const TensorId input = node->inputs.front();
    const bool withNumber = node->inputs.size() == 1 || constantOf(graph, node->inputs[1]);
    if (!withNumber || graph.tensor(input).shape != graph.tensor(tensor).shape) break;
    tensor = input;
  }
  return tensor;
}

/// Whether somebody gives the tensor, or what is made of it element by element, an axis of length 1 at its
/// end: there it is laid along the axis that it belongs to.
bool isLaidAlongFirst(const Graph& graph, TensorId tensor) {
  for (const core::NodeId id : graph.consumers(tensor)) {
    const Node& reader = graph.node(id);
    if (reader.phase != core::Phase::kForward || reader.outputs.empty()) continue;
    const Shape& from = graph.tensor(tensor).shape;
    const Shape& to = graph.tensor(reader.outputs.front()).shape;
    const bool reshapes = reader.opType == "Unsqueeze" || reader.opType == "Reshape";
    if (reshapes && to.rank() > from.rank() && to[to.rank() - 1] == 1 && to[0] == from[0]) return true;
    if (reader.inputs.size() == 1 && to == from && isLaidAlongFirst(graph, reader.outputs.front()))
      return true;
  }
  return false;
}

bool areRelated(const Graph& graph, TensorId a, TensorId b) {
  return a == b || madeFrom(graph, a)[b.index()] || madeFrom(graph, b)[a.index()];
}

/// "axis 1 of [24, 24]".
std::string axisText(std::size_t axis, const Shape& shape) {
  return "axis " + std::to_string(axis) + " of " + shape.text();
}

/// Operand `small` of the node, where it meets what it was reduced from.
void checkReduced(EvaluationContext& context, const Node& node, std::size_t small) {
  const Graph& graph = context.graph();
  const TensorId reduced = node.inputs[small], whole = node.inputs[1 - small];
  const Shape& shape = graph.tensor(whole).shape;
  if (graph.tensor(reduced).shape.rank() + 1 != shape.rank() ||
      graph.tensor(node.outputs.front()).shape != shape)
    return;
  const Node* reduction = producerOf(graph, beforeElementwise(graph, reduced));
  if (!isOneOf(reduction, kReductions) || graph.tensor(reduction->inputs.front()).shape != shape) return;
  const std::optional<std::size_t> axis = axisOfNorm(graph, *reduction);
  if (!axis || *axis == 0 || shape[*axis] < 2 || shape[*axis - 1] < 2) return;
  if (!areRelated(graph, whole, reduction->inputs.front())) return;
  if (isLaidAlongFirst(graph, reduced) || isLaidAlongFirst(graph, reduction->outputs.front())) return;
  Finding finding = findingAtNode(
      context, node.id,
      reduction->name + " reduces " + axisText(*axis, shape) + " and does not keep it: its " +
          graph.tensor(reduced).shape.text() + " is laid along axis " + std::to_string(*axis) +
          " here, which it no longer knows anything of, and not along axis " + std::to_string(*axis - 1) +
          "; that it fits is because both are " + std::to_string(shape[*axis]) + " long");
  finding.advice = "Keep the axis (keepdims), or put one of length 1 there (unsqueeze) before the two meet.";
  if (isData(graph, originOf(graph, whole)))
    finding.severity = Severity::kHint;  // of a symmetric one it is meant
  context.findings.push_back(std::move(finding));
}

/// Operand `small` of the node, a number a sample, along the features.
void checkSamples(EvaluationContext& context, const Node& node, std::size_t small) {
  const Graph& graph = context.graph();
  const TensorId samples = beforeElementwise(graph, node.inputs[small]), whole = node.inputs[1 - small];
  const Shape &shape = graph.tensor(whole).shape, one = graph.tensor(samples).shape;
  if (one.rank() != 1 || shape.rank() < 2 || one[0] < 2 || graph.tensor(node.outputs.front()).shape != shape)
    return;
  if (shape[0] != one[0] || shape[shape.rank() - 1] != one[0] || !isData(graph, samples)) return;
  if (!isLaidAlongFirst(graph, samples)) return;
  Finding finding = findingAtNode(context, node.id,
                                  graph.tensor(samples).name + " " + one.text() +
                                      " has a number for each row elsewhere, and is laid along the "
                                      "last axis of " +
                                      shape.text() +
                                      " here: each feature gets the number of another row; that it fits "
                                      "is because both axes are " +
                                      std::to_string(one[0]) + " long");
  finding.advice = "Give it an axis of length 1 at its end (unsqueeze) before the two meet.";
  context.findings.push_back(std::move(finding));
}

void question(EvaluationContext& context) {
  const Graph& graph = context.graph();
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || !node.isOwn() || !isOneOf(&node, kOfTwo)) continue;
    if (node.inputs.size() != 2) continue;
    ++context.evaluated;
    for (const std::size_t small : {0, 1}) {
      if (!graph.tensor(node.inputs[0]).shape.known() || !graph.tensor(node.inputs[1]).shape.known())
        continue;
      checkReduced(context, node, small);
      checkSamples(context, node, small);
    }
  }
}

}  // namespace

ConditionDef shiftedBroadcastCondition() {
  ConditionDef def;
  def.id = "shifted_broadcast";
  def.title = "Laid along another axis";
  def.doc =
      "From the graph, of our own operators: a tensor is divided by, multiplied by, added to or lessened by "
      "its own "
      "sums, means, norms or extremes over an axis other than the first, and the axis was not kept, so that "
      "broadcasting lays them along the axis that they were reduced over; only two axes of one length let it "
      "pass. A hint where the tensor comes with the batch: of a symmetric matrix it may be meant. Silent "
      "where "
      "the same sums are laid along the other axis too. Or one number a sample, which the program lays along "
      "the samples elsewhere, is laid along the features, of which there are as many.";
  def.advice = "Keep the axis that is reduced (keepdims), or unsqueeze it before the two meet.";
  def.rowsOnly = true;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
