#include "watchpoints/conditions/loss_sum.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/batch_axis.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/updates.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;
using core::TensorRole;

namespace {

constexpr double kMany = 16;  // times the gradient of a mean: a rate for means is too large by far

/// How many samples, or places of them, the operator adds up; 0: none, it sums over other axes.
std::int64_t summedSamples(const Graph& graph, const BatchAxes& batch, const Node& sum) {
  const BatchPlace& from = batch.of(sum.inputs.front());
  const bool gone = batch.of(sum.outputs.front()).kind == BatchPlace::Kind::kGone;
  if (from.kind != BatchPlace::Kind::kAt || !gone) return 0;
  return graph.tensor(sum.inputs.front()).shape[from.axis];
}

struct Scaled {
  TensorId input;
  double factor;
};
/// What the operator gives a multiple of.
std::optional<Scaled> scaledInput(const Graph& graph, const Node& node) {
  static constexpr auto kKeeps =
      std::to_array<std::string_view>({"Neg", "Identity", "Cast", "Reshape", "Squeeze", "Add", "ReduceSum"});
  if (isOneOf(&node, kKeeps)) return Scaled{node.inputs.front(), 1};
  const bool quotient = node.opType == "Div" || node.opType == "aten.div";
  if (!quotient && !isProduct(&node)) return std::nullopt;
  for (std::size_t operand = 0; operand < std::min<std::size_t>(node.inputs.size(), quotient ? 1 : 2);
       ++operand) {
    const std::optional<double> factor = constantBeside(graph, node, operand);
    if (factor && *factor != 0)
      return Scaled{node.inputs[operand], std::abs(quotient ? 1 / *factor : *factor)};
  }
  return std::nullopt;
}

std::vector<TensorId> lossesOf(const Graph& graph) {
  std::vector<TensorId> losses;
  for (const core::TensorInfo& info : graph.tensors())
    if (info.role == TensorRole::kLoss) losses.push_back(info.id);
  return losses;
}

/// The losses of the parts of a batch: by the same operator on the same line, none of them a fraction of
/// something.
std::optional<LossSum> sumOfParts(const Graph& graph, std::span<const TensorId> losses) {
  constexpr std::size_t kSeveral = 4;
  if (losses.size() < kSeveral) return std::nullopt;
  const Node* first = producerOf(graph, losses.front());
  const core::Frame* line = first ? graph.userFrame(first->frames) : nullptr;
  if (!line || first->opType.starts_with("torch.")) return std::nullopt;  // a whole pass: nobody knows
  for (const TensorId loss : losses) {
    const Node* node = producerOf(graph, loss);
    const core::Frame* frame = node ? graph.userFrame(node->frames) : nullptr;
    if (!frame || node->opType != first->opType || frame->file != line->file || frame->line != line->line)
      return std::nullopt;
    if (const auto scaled = scaledInput(graph, *node); scaled && scaled->factor != 1) return std::nullopt;
  }
  const std::string count = std::to_string(losses.size());
  return LossSum{"the gradients of " + count + " losses add up before the step, and nothing divides them: " +
                     "they are " + count + " times those of their mean",
                 losses.front(),
                 "Divide each of these losses by their number before backward(), or the learning rate."};
}

}  // namespace

std::optional<LossSum> sumOfLoss(const Graph& graph) {
  const std::vector<TensorId> losses = lossesOf(graph);
  if (losses.empty() || std::ranges::any_of(graph.nodes(), isAdam)) return std::nullopt;
  if (std::optional<LossSum> parts = sumOfParts(graph, losses)) return parts;
  TensorId tensor = losses.back();
  const BatchAxes batch(graph);
  double factor = 1;
  while (const Node* node = producerOf(graph, tensor)) {
    const bool sums = node->opType == "ReduceSum" || node->opType == "ReduceSumSquare";
    if (const std::int64_t samples = sums ? summedSamples(graph, batch, *node) : 0; samples > 0) {
      const double times = factor * static_cast<double>(samples);
      if (times < kMany) return std::nullopt;
      return LossSum{"the loss is a sum over " + std::to_string(samples) + " samples: its gradient is " +
                         core::formatShort(times) + " times that of a mean",
                     tensor, "Take the mean over the samples, or divide the learning rate by their number."};
    }
    const std::optional<Scaled> scaled = scaledInput(graph, *node);
    if (!scaled) return std::nullopt;
    factor *= scaled->factor;
    tensor = scaled->input;
  }
  return std::nullopt;
}

void blameSum(const std::optional<LossSum>& sum, Finding& finding) {
  if (!sum) return;
  finding.detail += (finding.detail.empty() ? "" : "; ") + sum->text;
  finding.writtenAt = sum->sum;
  finding.advice = sum->advice;
}

}  // namespace msdbg::watch
