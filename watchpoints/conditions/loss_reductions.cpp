// A loss of two terms of which one is a mean over samples and the other a sum over them: how much the one
// weighs against the other then depends on the size of the batch.
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

constexpr std::int64_t kSamples = 8;  // at least: a sum of fewer is near enough to a mean
constexpr double kUnscaled = 0.1;     // smaller factors were chosen for a sum, or divide it

enum class Reduction { kMean, kSum };
struct Term {
  const Node* node = nullptr;  // what reduces
  Reduction reduction = Reduction::kMean;
  std::int64_t samples = 0, elements = 0;  // that it takes in
};

/// Losses of PyTorch that are one operator say by `reduction` what they are; 1 where they say nothing.
std::optional<Reduction> reductionOfLoss(const Node& node) {
  static constexpr auto kLosses =
      std::to_array<std::string_view>({"aten.nll_loss_forward", "aten.nll_loss2d_forward", "aten.mse_loss",
                                       "aten.l1_loss", "aten.smooth_l1_loss", "aten.huber_loss",
                                       "aten.binary_cross_entropy", "aten.binary_cross_entropy_with_logits"});
  if (!isOneOf(&node, kLosses)) return std::nullopt;
  const std::int64_t reduction = core::intAttribute(node.attributes, "reduction", 1);
  if (reduction == 0) return std::nullopt;
  return reduction == 1 ? Reduction::kMean : Reduction::kSum;
}

/// Of more than parameters: their sizes are nobody's samples.
bool isOfData(const Graph& graph, TensorId tensor) {
  const std::vector<bool> parts = partsOf(graph, tensor);
  return std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& info) {
    return info.isSource() && parts[info.id.index()] && info.role != core::TensorRole::kParameter &&
           info.shape.rank() > 0;
  });
}

/// What reduces all of a tensor, whose first axis is that of the samples.
std::optional<Term> termAt(const Graph& graph, const Node& node) {
  const TensorId input = node.inputs.front();
  std::optional<Reduction> reduction = reductionOfLoss(node);
  if (node.opType == "ReduceMean") reduction = Reduction::kMean;
  if (node.opType == "ReduceSum") reduction = Reduction::kSum;
  const core::Shape& shape = graph.tensor(input).shape;
  if (!reduction || !shape.known() || shape.rank() == 0 || shape[0] < kSamples) return std::nullopt;
  if (graph.tensor(node.outputs.front()).shape.rank() != 0 || !isOfData(graph, input)) return std::nullopt;
  return Term{&node, *reduction, shape[0], shape.elements()};
}

/// Adds the terms that `tensor` is the sum of, each with the factor before it. What is divided by something
/// that is computed is no term that one knows.
void collect(const Graph& graph, TensorId tensor, double factor, int depth, std::vector<Term>& terms) {
  const Node* node = producerOf(graph, tensor);
  if (!node || node->inputs.empty() || depth > 8) return;
  if (std::optional<Term> term = termAt(graph, *node)) {
    if (std::abs(factor) >= kUnscaled || term->reduction == Reduction::kMean) terms.push_back(*term);
    return;
  }
  if (node->opType == "Add" || node->opType == "Sub") {
    for (const TensorId input : node->inputs) collect(graph, input, factor, depth + 1, terms);
    return;
  }
  static constexpr auto kKeeps =
      std::to_array<std::string_view>({"Neg", "Identity", "Cast", "Reshape", "aten.add", "aten.sub"});
  if (isOneOf(node, kKeeps)) return collect(graph, node->inputs.front(), factor, depth + 1, terms);
  const bool product = node->opType == "Mul" || node->opType == "aten.mul";
  if (!product && node->opType != "Div" && node->opType != "aten.div") return;
  for (std::size_t i = 0; i < node->inputs.size(); ++i)
    if (const std::optional<double> number = constantBeside(graph, *node, i); number && *number != 0)
      return collect(graph, node->inputs[i], product ? factor * *number : factor / *number, depth + 1, terms);
}

const Term* find(const std::vector<Term>& terms, Reduction reduction) {
  for (const Term& term : terms)
    if (term.reduction == reduction) return &term;
  return nullptr;
}

}  // namespace

void checkReductions(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  std::vector<Term> terms;
  collect(graph, loss, 1, 0, terms);
  const Term *mean = find(terms, Reduction::kMean), *sum = find(terms, Reduction::kSum);
  if (!mean || !sum || sum->samples != mean->samples) return;
  Finding finding =
      findingAtNode(context, sum->node->id,
                    "it is a sum over " + std::to_string(sum->samples) + " samples, and is added to " +
                        mean->node->name + ", which is a mean over " + std::to_string(mean->elements) +
                        " elements: the larger the batch, the more it outweighs that one");
  finding.severity = Severity::kHint;
  finding.advice =
      "Reduce both alike: sum over what belongs to one sample, and take the mean over the samples.";
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
