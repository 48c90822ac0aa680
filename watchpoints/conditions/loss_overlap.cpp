// Overlaps of boxes whose sides were not cut off at zero, and boxes that are given by other numbers than
// their corners.
#include <algorithm>
#include <ranges>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// What reads parts of larger tensors, of which a recorder that folds views shows the whole, is not in our
/// terms.
bool is(const Node* node, std::string_view ours, std::string_view theirs) {
  return node && (node->opType == ours || node->opType == theirs);
}

/// The tensor that this one is a part of, past what takes parts; itself where it is whole.
TensorId wholeOf(const Graph& graph, TensorId tensor) {
  static constexpr auto kParts =
      std::to_array<std::string_view>({"Slice", "Gather", "Squeeze", "aten.select", "aten.slice"});
  tensor = originOf(graph, tensor);
  const Node* node = producerOf(graph, tensor);
  for (int steps = 0; steps < 3 && isOneOf(node, kParts); ++steps) {
    tensor = originOf(graph, node->inputs[0]);
    node = producerOf(graph, tensor);
  }
  return tensor;
}

/// min(ends) - max(beginnings): how far two intervals overlap; nullptr: the tensor is something else. Past
/// what takes parts of it.
const Node* overlapOf(const Graph& graph, TensorId tensor) {
  const Node* node = producerOf(graph, wholeOf(graph, tensor));
  if (!is(node, "Sub", "aten.sub") || node->inputs.size() != 2) return nullptr;
  const Node *ends = makerOf(graph, node->inputs[0]), *begins = makerOf(graph, node->inputs[1]);
  return is(ends, "Min", "aten.minimum") && is(begins, "Max", "aten.maximum") ? node : nullptr;
}

/// The two sides of an area that the node gives, which may be parts of one tensor; nullopt: it gives none.
std::optional<std::pair<const Node*, const Node*>> sidesOf(const Graph& graph, const Node& node) {
  if (is(&node, "ReduceProd", "aten.prod")) {
    const Node* both = overlapOf(graph, node.inputs.front());
    return both ? std::optional(std::pair(both, both)) : std::nullopt;
  }
  if (!is(&node, "Mul", "aten.mul") || node.inputs.size() != 2) return std::nullopt;
  const Node *a = overlapOf(graph, node.inputs[0]), *b = overlapOf(graph, node.inputs[1]);
  if (!a || !b) return std::nullopt;
  const core::Shape &area = graph.tensor(node.outputs.front()).shape,
                    &side = graph.tensor(a->outputs.front()).shape;
  const bool square = a == b && area.known() && side.known() && area.elements() >= side.elements();
  return square ? std::nullopt : std::optional(std::pair(a, b));
}

/// The least that the node gives in the first iterations that have it; 0: not below zero.
double leastOf(EvaluationContext& context, const Node& node) {
  constexpr std::ptrdiff_t kFirst = 20;
  const TensorId tensor = node.outputs.front();
  const core::Rank rank = context.rankWith(tensor);
  double least = 0;
  for (const core::Iteration iteration : context.source.iterations(rank) | std::views::take(kFirst)) {
    const StatisticsRow* row = context.source.statistics(rank, iteration, tensor);
    if (row && row->values.nonFinite() == 0) least = std::min(least, row->values.min);
  }
  return least;
}

constexpr std::int64_t kCorners = 4;  // x1, y1, x2, y2

/// The boxes of which a difference of two columns is a side; invalid: it is something else.
TensorId boxesOf(const Graph& graph, TensorId side) {
  const Node* node = makerOf(graph, side);
  if (!is(node, "Sub", "aten.sub") || node->inputs.size() != 2) return {};
  const TensorId boxes = wholeOf(graph, node->inputs[0]);
  if (boxes != wholeOf(graph, node->inputs[1])) return {};
  const core::Shape& shape = graph.tensor(boxes).shape;
  return shape.known() && shape.rank() > 1 && shape[shape.rank() - 1] == kCorners ? boxes : TensorId();
}

/// The area of boxes that the batch brings, beside an overlap with others: of corners it is not negative.
void checkArea(EvaluationContext& context, const Node& node) {
  const Graph& graph = context.graph();
  if (!is(&node, "Mul", "aten.mul") || node.inputs.size() != 2) return;
  const TensorId boxes = boxesOf(graph, node.inputs[0]);
  if (!boxes.valid() || boxes != boxesOf(graph, node.inputs[1]) || !isData(graph, boxes)) return;
  const bool overlaps = std::ranges::any_of(graph.nodes(), [&](const Node& other) {
    return other.phase == core::Phase::kForward && !other.outputs.empty() &&
           overlapOf(graph, other.outputs.front());
  });
  const double least = overlaps ? leastOf(context, node) : 0;
  if (least >= 0) return;
  Finding finding =
      findingAtNode(context, node.id,
                    "the area of boxes of " + graph.tensor(boxes).name + " is below zero (down to " +
                        core::formatShort(least) +
                        "): their last two columns lie before the first two, so that they are no "
                        "corners (x1, y1, x2, y2), but sizes, or a center and sizes");
  finding.advice = "Make corners of them before they are compared: x2 = x1 + width, y2 = y1 + height.";
  context.findings.push_back(std::move(finding));
}

}  // namespace

void checkOverlap(EvaluationContext& context, const Node& node, const std::vector<bool>& learnt) {
  if (!learnt[node.outputs.front().index()]) return checkArea(context, node);
  const auto sides = sidesOf(context.graph(), node);
  if (!sides) return;
  const double least = std::min(leastOf(context, *sides->first), leastOf(context, *sides->second));
  if (least >= 0) return;
  Finding finding =
      findingAtNode(context, sides->first->id,
                    "the sides of an overlap are below zero where two boxes do not meet (down to " +
                        core::formatShort(least) + "), and " + node.name +
                        " multiplies them as they are: two negative sides are taken for an overlap");
  finding.advice = "Cut them off at zero first: (min(ends) - max(beginnings)).clamp(min=0).";
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
