#include "watchpoints/conditions/leaked_steps.h"

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

constexpr std::size_t kSteps = 3;  // with fewer the order tells nothing

/// The place that a slice of one element of an axis is taken from; nullopt: it is another.
std::optional<std::int64_t> placeOf(const Node& node, std::int64_t axis, std::size_t rank) {
  const auto starts = core::intsAttribute(node.attributes, "starts", {}),
             ends = core::intsAttribute(node.attributes, "ends", {}),
             axes = core::intsAttribute(node.attributes, "axes", {});
  if (node.opType != "Slice" || starts.size() != 1 || ends.size() != 1 || ends[0] != starts[0] + 1)
    return std::nullopt;
  const std::int64_t along = axes.empty() ? 0 : axes[0];
  const auto dimensions = static_cast<std::int64_t>(rank);
  if (starts[0] < 0 || (along + dimensions) % dimensions != axis) return std::nullopt;
  return starts[0];
}

/// The slices of `target` along `axis`, by place; empty: something reads it otherwise on the way to what is
/// predicted.
std::vector<TensorId> stepsOf(const Graph& graph, TensorId target, std::int64_t axis, std::size_t count,
                              const std::vector<bool>& parts) {
  std::vector<TensorId> steps(count);
  for (const core::NodeId user : graph.consumers(target)) {
    const Node& node = graph.node(user);
    if (node.phase != core::Phase::kForward || !parts[node.outputs.front().index()]) continue;
    const auto place = placeOf(node, axis, graph.tensor(target).shape.rank());
    if (!place || *place >= static_cast<std::int64_t>(count) || steps[*place].valid()) return {};
    steps[static_cast<std::size_t>(*place)] = node.outputs.front();
  }
  return std::ranges::all_of(steps, [](TensorId step) { return step.valid(); }) ? steps
                                                                                : std::vector<TensorId>();
}

/// Each piece is made of its own step, and of none that comes after it.
bool endWithTheirOwn(const Graph& graph, const Node& joined, const std::vector<TensorId>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<bool> parts = partsOf(graph, joined.inputs[i]);
    for (std::size_t j = i; j < steps.size(); ++j)
      if (parts[steps[j].index()] != (i == j)) return false;
  }
  return true;
}

/// What a difference compares, one of the two brought by the batch.
struct Compared {
  TensorId predicted, target;
};
std::vector<Compared> comparisons(const Graph& graph, const std::vector<bool>& learnt) {
  std::vector<Compared> all;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.opType != "Sub") continue;
    for (const std::size_t i : {0, 1})
      if (learnt[node.inputs[i].index()] && isData(graph, node.inputs[1 - i]))
        all.push_back({node.inputs[i], node.inputs[1 - i]});
  }
  return all;
}

}  // namespace

std::optional<Finding> leakedSteps(const EvaluationContext& context) {
  const Graph& graph = context.graph();
  const std::vector<bool> learnt = learntTensors(graph);
  for (const auto& [predicted, target] : comparisons(graph, learnt)) {
    const Node* joined = producerOf(graph, predicted);
    const core::Shape& shape = graph.tensor(target).shape;
    if (!joined || joined->opType != "Concat" || !shape.known() || joined->inputs.size() < kSteps) continue;
    const auto rank = static_cast<std::int64_t>(shape.rank());
    const std::int64_t axis = (core::intAttribute(joined->attributes, "axis", 0) + rank) % rank;
    if (shape[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(joined->inputs.size())) continue;
    const auto steps = stepsOf(graph, target, axis, joined->inputs.size(), partsOf(graph, predicted));
    if (steps.empty() || !endWithTheirOwn(graph, *joined, steps)) continue;
    const std::string& name = graph.tensor(target).name;
    Finding finding = findingAtNode(
        context, graph.tensor(steps.front()).producer,
        "step i of " + name + " goes into prediction i of " + joined->name + ", which is to be step i of " +
            name + ": the model reads the answer; teacher forcing gives it the step before");
    finding.advice = "Give prediction i the step i - 1, and the first one the last value that is known.";
    return finding;
  }
  return std::nullopt;
}

}  // namespace msdbg::watch
