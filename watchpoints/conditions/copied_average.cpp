#include "watchpoints/conditions/copied_average.h"

#include <algorithm>
#include <map>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// What the copy reads in the place of that output; invalid: it is no copy.
TensorId copiedFrom(const Node& node, TensorId next) {
  if (node.opType != "aten.copy_" && node.opType != "aten._foreach_copy_") return {};
  const auto at = static_cast<std::size_t>(std::ranges::find(node.outputs, next) - node.outputs.begin());
  const std::size_t before = node.inputs.size() - std::min(node.inputs.size(), node.outputs.size());
  return before + at < node.inputs.size() ? node.inputs[before + at] : TensorId();
}

/// Operators outside of forward and backward passes that read the weight, few steps before.
bool isMadeOf(const Graph& graph, TensorId tensor, TensorId weight, int depth = 4) {
  if (rootOf(graph, tensor) == weight) return true;
  const Node* maker = producerOf(graph, tensor);
  if (!maker || maker->phase != core::Phase::kForward || depth == 0) return false;
  return std::ranges::any_of(maker->inputs,
                             [&](TensorId input) { return isMadeOf(graph, input, weight, depth - 1); });
}

/// Of the weight and something else: a copy of it alone is kept to be put back.
bool isAverage(const Graph& graph, TensorId tensor, TensorId weight) {
  const Node* maker = producerOf(graph, tensor);
  return maker && maker->phase == core::Phase::kForward && maker->inputs.size() > 1 &&
         isMadeOf(graph, tensor, weight);
}

}  // namespace

CopiedAverages::CopiedAverages(const Graph& graph) {
  std::map<TensorId, core::NodeId> steps;  // by weight
  const std::vector<ParameterUpdate> updates = parameterUpdates(graph);
  for (const ParameterUpdate& update : updates)
    if (graph.node(update.node).phase == core::Phase::kUpdate)
      steps[rootOf(graph, update.parameter)] = update.node;
  for (const ParameterUpdate& update : updates) {
    const TensorId weight = rootOf(graph, update.parameter),
                   average = copiedFrom(graph.node(update.node), update.next);
    const auto step = steps.find(weight);
    if (step != steps.end() && average.valid() && isAverage(graph, average, weight))
      m_all.push_back({.weight = weight, .average = average, .next = update.next, .step = step->second});
  }
}

void CopiedAverages::evaluate(EvaluationContext& context) {
  if (context.ranks.empty()) return;
  const core::Rank rank = context.ranks.front();
  for (Copied& each : m_all) {
    each.averaged += context.rows.now(rank, each.average) != nullptr;
    each.since += each.copied > 0;
    if (!context.rows.now(rank, each.next)) continue;
    const auto read = context.inputs(rank, context.graph().node(each.step));
    if (std::ranges::find(read, each.next) == read.end()) continue;
    if (each.copied++ == 0) each.first = context.iteration, each.rank = rank;
  }
}

std::optional<Finding> CopiedAverages::finding(EvaluationContext& context) const {
  constexpr std::int64_t kFew = 5;
  const auto stays = [](const Copied& each) {
    return each.copied > 0 && each.averaged >= 2 * each.copied && each.since >= kFew;
  };
  const auto found = std::ranges::find_if(m_all, stays);
  if (found == m_all.end()) return std::nullopt;
  Finding finding = findingAt(context, {found->first, found->rank, found->next}, precedence::kOther);
  const std::int64_t more = std::ranges::count_if(m_all, stays) - 1;
  finding.severity = Severity::kHint;
  finding.detail = context.graph().tensor(found->weight).name + " is set to a running average of itself in " +
                   std::to_string(found->copied) + (found->copied == 1 ? " iteration" : " iterations") +
                   ", and training goes on from there: nothing puts back what the steps had made of it";
  if (more > 0) finding.detail += "; so it is with " + std::to_string(more) + " more";
  finding.advice =
      "Keep a copy of the weights and restore it after the evaluation, or evaluate a second model that the "
      "average is copied to.";
  return finding;
}

}  // namespace msdbg::watch
