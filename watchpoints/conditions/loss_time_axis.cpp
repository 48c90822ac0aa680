#include "core_engine/ops/op.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;

/// The samples of the labels of a loss; 0: it is none, or they have other axes too.
std::int64_t samplesOf(const Graph& graph, const Node& node) {
  static constexpr auto kLosses = std::to_array<std::string_view>(
      {"aten.nll_loss_forward", "aten.mse_loss", "aten.l1_loss", "aten.smooth_l1_loss", "aten.huber_loss",
       "aten.binary_cross_entropy_with_logits"});
  if (node.phase != core::Phase::kForward || !isOneOf(&node, kLosses) || node.inputs.size() < 2) return 0;
  const core::Shape& labels = graph.tensor(node.inputs[1]).shape;
  const bool one = labels.rank() == 1 || (labels.rank() == 2 && labels[1] == 1);
  return labels.known() && one ? labels[0] : 0;
}

/// Of all losses; 0: they differ, or there is none.
std::int64_t samplesOf(const Graph& graph) {
  std::int64_t all = 0;
  for (const Node& node : graph.nodes()) {
    const std::int64_t samples = samplesOf(graph, node);
    if (samples == 0) continue;
    if (all != 0 && all != samples) return 0;
    all = samples;
  }
  return all;
}

}  // namespace

void checkTimeAxis(EvaluationContext& context) {
  const Graph& graph = context.graph();
  const std::int64_t samples = samplesOf(graph);
  if (samples < 2) return;
  for (const Node& node : graph.nodes()) {
    if (node.opType != "torch.recurrent") continue;
    const std::int64_t steps = core::intAttribute(node.attributes, "steps", 0),
                       sequences = core::intAttribute(node.attributes, "sequences", 0);
    if (steps != samples || sequences < 2 || sequences == samples) continue;
    const auto first = node.attributes.find("batch_first");
    const bool* batchFirst = first == node.attributes.end() ? nullptr : std::get_if<bool>(&first->second);
    Finding finding =
        findingAtNode(context, node.id,
                      node.scope + " takes the axis of " + std::to_string(steps) + " for time, and that of " +
                          std::to_string(sequences) + " for the batch; the loss has labels for " +
                          std::to_string(samples) + " samples: state is carried from one sample to the next");
    finding.advice = batchFirst && *batchFirst
                         ? "It was made with batch_first=True, and is given [time, batch, features]: leave "
                           "that out, or transpose(0, 1)."
                         : "It is given [batch, time, features], and expects time first: batch_first=True.";
    return context.findings.push_back(std::move(finding));
  }
}

}  // namespace msdbg::watch
