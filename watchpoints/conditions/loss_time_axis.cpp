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

/// Whether positions are learnt for as many places as the axis has: rows of a table that arange() picks, or a
/// parameter [1, places, width] that is added.
bool hasPositions(const Graph& graph, std::int64_t places) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    if (node.phase != core::Phase::kForward || node.inputs.size() < 2 || node.outputs.empty()) return false;
    if (node.opType == "Gather") {
      const core::Shape& picked = graph.tensor(node.outputs.front()).shape;
      const Node* indices = makerOf(graph, node.inputs[1]);
      return indices && indices->opType == "aten.arange" && picked.known() && picked.rank() >= 2 &&
             picked[picked.rank() - 2] == places;
    }
    return (node.opType == "Add" || node.opType == "aten.add") &&
           std::ranges::any_of(node.inputs, [&](core::TensorId input) {
             const core::TensorInfo& info = graph.tensor(input);
             return info.role == core::TensorRole::kParameter && info.shape.known() &&
                    info.shape.rank() == 3 && info.shape[0] == 1 && info.shape[1] == places;
           });
  });
}

/// A self-attention that was given [batch, places, width], and expects places first: the samples of the loss
/// are not told from its places, but positions are learnt along the axis that it takes for the batch.
bool attendsAcross(const Graph& graph, const Node& node) {
  const std::int64_t steps = core::intAttribute(node.attributes, "steps", 0),
                     sequences = core::intAttribute(node.attributes, "sequences", 0);
  return node.opType == "torch.attention" && steps > 1 && sequences > 1 && steps != sequences &&
         hasPositions(graph, sequences) && !hasPositions(graph, steps);
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

/// A state that outlives its batch, of samples in an order that is drawn: the recorder compared the values.
void checkCarriedState(EvaluationContext& context) {
  for (const Node& node : context.graph().nodes()) {
    if (node.opType != "torch.carried_state") continue;
    Finding finding =
        findingAtNode(context, node.id,
                      node.scope +
                          " begins each batch with the state that it ended the batch before with, and "
                          "the loader shuffles: it is the state of other sequences");
    finding.advice =
        "Begin each batch with a new state (None), or read the sequences in order: shuffle=False, each row "
        "of "
        "a batch going on where that row of the batch before ended.";
    return context.findings.push_back(std::move(finding));
  }
}

}  // namespace

void checkTimeAxis(EvaluationContext& context) {
  checkCarriedState(context);
  const Graph& graph = context.graph();
  const std::int64_t samples = samplesOf(graph);
  for (const Node& node : graph.nodes()) {
    const bool attends = node.opType == "torch.attention";
    if (node.opType != "torch.recurrent" && !attends) continue;
    const std::int64_t steps = core::intAttribute(node.attributes, "steps", 0),
                       sequences = core::intAttribute(node.attributes, "sequences", 0);
    const bool ofLabels = samples > 1 && steps == samples && sequences > 1 && sequences != samples;
    if (!ofLabels && !attendsAcross(graph, node)) continue;
    const auto first = node.attributes.find("batch_first");
    const bool* batchFirst = first == node.attributes.end() ? nullptr : std::get_if<bool>(&first->second);
    Finding finding =
        findingAtNode(context, node.id,
                      node.scope + " takes the axis of " + std::to_string(steps) + " for time, and that of " +
                          std::to_string(sequences) + " for the batch; " +
                          (ofLabels ? "the loss has labels for " + std::to_string(samples) + " samples: "
                                    : "positions are learnt for " + std::to_string(sequences) + " places: ") +
                          (attends ? "the samples of a batch attend to one another"
                                   : "state is carried from one sample to the next"));
    finding.advice = batchFirst && *batchFirst
                         ? "It was made with batch_first=True, and is given [time, batch, features]: leave "
                           "that out, or transpose(0, 1)."
                         : "It is given [batch, time, features], and expects time first: batch_first=True.";
    return context.findings.push_back(std::move(finding));
  }
}

}  // namespace msdbg::watch
