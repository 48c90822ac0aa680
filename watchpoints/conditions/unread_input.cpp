#include "watchpoints/conditions/unread_input.h"

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

/// What a training step is for: the loss, and the next values of parameters and states.
std::vector<TensorId> purposesOf(const Graph& graph) {
  std::vector<TensorId> purposes;
  for (const core::TensorInfo& info : graph.tensors())
    if (info.role == core::TensorRole::kLoss || info.updateOf.valid()) purposes.push_back(info.id);
  return purposes;
}

/// The last operator of those that are made of an input and have a part in nothing; nullptr: something learnt
/// goes into one of them too.
const Node* deadEnd(const Graph& graph, TensorId input, const std::vector<bool>& learnt) {
  const std::vector<bool> made = madeFrom(graph, input);
  const Node* last = nullptr;
  for (const Node& node : graph.nodes()) {
    if (node.outputs.empty() || !made[node.outputs.front().index()]) continue;
    if (learnt[node.outputs.front().index()]) return nullptr;
    last = &node;
  }
  return last;
}

/// Computed of what the batch brings alone, and read by nothing; nullptr: none. Numbers are for the program.
const Node* unusedResult(const Graph& graph, const std::vector<bool>& learnt) {
  std::vector<bool> brought(graph.tensors().size());
  for (const core::TensorInfo& info : graph.tensors())
    if (isData(graph, info.id)) brought[info.id.index()] = true;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.outputs.size() != 1) continue;
    const TensorId output = node.outputs.front();
    if (std::ranges::any_of(node.inputs, [&](TensorId in) { return brought[in.index()]; }))
      brought[output.index()] = true;
    if (brought[output.index()] && !learnt[output.index()] && graph.consumers(output).empty() &&
        graph.tensor(output).shape.rank() > 0)
      return &node;
  }
  return nullptr;
}

Finding findingOf(EvaluationContext& context, core::Iteration begin, TensorId tensor, std::string detail) {
  Finding finding = findingAt(context, {begin, context.allRanks.front(), tensor}, precedence::kOther);
  finding.severity = Severity::kHint;
  finding.detail = std::move(detail) + ": does something else stand in its place in the loss, or in a layer?";
  finding.advice = "Use it, or leave it away.";
  return finding;
}

}  // namespace

void addUnreadInputs(EvaluationContext& context, core::Iteration begin) {
  const Graph& graph = context.graph();
  const std::vector<TensorId> purposes = purposesOf(graph);
  if (hasForeignNodes(graph) || purposes.empty()) return;
  const std::vector<bool> parts = partsOf(graph, purposes), learnt = learntTensors(graph);
  bool told = false;
  for (const core::TensorInfo& info : graph.tensors()) {
    if (!isData(graph, info.id) || parts[info.id.index()]) continue;
    const Node* end = deadEnd(graph, info.id, learnt);
    if (!end && !graph.consumers(info.id).empty()) continue;
    told = true;
    context.findings.push_back(
        end ? findingOf(context, begin, end->outputs.front(),
                        "all that is computed of " + info.name + " ends at " + end->name +
                            ", which nothing reads: the loss does not depend on what the batch brings there")
            : findingOf(context, begin, info.id, "the batch brings " + info.name + ", and nothing reads it"));
  }
  const Node* unused = told ? nullptr : unusedResult(graph, learnt);
  if (unused)
    context.findings.push_back(findingOf(context, begin, unused->outputs.front(),
                                         "it is computed of what the batch brings, and nothing reads it"));
}

}  // namespace msdbg::watch
