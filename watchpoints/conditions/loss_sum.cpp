#include "watchpoints/conditions/loss_sum.h"

#include <algorithm>
#include <cmath>

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
  if (node.opType != "Mul" && node.opType != "Div") return std::nullopt;
  for (const std::size_t i : {1, 0}) {
    const std::optional<double> factor = constantOf(graph, node.inputs[i]);
    if (!factor || *factor == 0 || (i == 0 && node.opType == "Div")) continue;
    return Scaled{node.inputs[1 - i], std::abs(node.opType == "Mul" ? *factor : 1 / *factor)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<LossSum> sumOfLoss(const Graph& graph) {
  TensorId tensor;
  for (const core::TensorInfo& info : graph.tensors())
    if (info.role == TensorRole::kLoss) tensor = info.id;
  if (!tensor.valid() || std::ranges::any_of(graph.nodes(), isAdam)) return std::nullopt;
  const BatchAxes batch(graph);
  double factor = 1;
  while (const Node* node = producerOf(graph, tensor)) {
    const bool sums = node->opType == "ReduceSum" || node->opType == "ReduceSumSquare";
    if (const std::int64_t samples = sums ? summedSamples(graph, batch, *node) : 0; samples > 0) {
      const double times = factor * static_cast<double>(samples);
      if (times < kMany) return std::nullopt;
      return LossSum{"the loss is a sum over " + std::to_string(samples) + " samples: its gradient is " +
                         core::formatShort(times) + " times that of a mean",
                     tensor};
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
  finding.advice = "Take the mean over the samples, or divide the learning rate by their number.";
}

}  // namespace msdbg::watch
