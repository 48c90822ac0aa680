// An overlap of areas, as Dice and IoU are: 2 sum(p t) / (sum(p) + sum(t)) of probabilities p and a mask t.
#include "core_engine/base/text.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/products.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

/// What a sum runs over; invalid: it is none.
TensorId summed(const Graph& graph, TensorId sum) {
  const Node* node = producerOf(graph, unscaled(graph, sum));
  return node && node->opType == "ReduceSum" ? node->inputs.front() : TensorId();
}

/// A layer that may give any number; nullptr: something bounds the tensor, or nobody knows.
const Node* unboundedMaker(const Graph& graph, TensorId tensor) {
  static constexpr auto kConvolutions =
      std::to_array<std::string_view>({"Conv", "ConvTranspose", "aten.convolution"});
  const Node* node = makerOf(graph, tensor);
  return isOneOf(node, kConvolutions) ? node : linearOf(graph, tensor);
}

struct Overlap {
  const Node* product = nullptr;
  TensorId predicted, mask;
};
/// sum(predicted * mask) among what is added up.
std::optional<Overlap> overlapIn(const Graph& graph, TensorId numerator, const std::vector<bool>& learnt) {
  for (const Summand& part : summandsOf(graph, unscaled(graph, numerator))) {
    const TensorId terms = summed(graph, part.tensor);
    const Node* product = terms.valid() ? producerOf(graph, terms) : nullptr;
    if (!isProduct(product) || product->inputs.size() != 2) continue;
    for (const std::size_t i : {0, 1})
      if (learnt[product->inputs[i].index()] && isData(graph, originOf(graph, product->inputs[1 - i])))
        return Overlap{product, product->inputs[i], product->inputs[1 - i]};
  }
  return std::nullopt;
}

/// Whether the sum of the tensor itself, or of its squares, is among what is added up.
bool addsUp(const Graph& graph, TensorId divisor, TensorId tensor) {
  return std::ranges::any_of(summandsOf(graph, divisor), [&](const Summand& part) {
    const TensorId terms = summed(graph, part.tensor);
    return terms.valid() &&
           (originOf(graph, terms) == originOf(graph, tensor) || squaredInput(graph, terms) == tensor);
  });
}

}  // namespace

void checkDice(EvaluationContext& context, const Node& quotient, const std::vector<bool>& learnt) {
  const Graph& graph = context.graph();
  if (quotient.opType != "Div" || quotient.inputs.size() != 2) return;
  const std::optional<Overlap> overlap = overlapIn(graph, quotient.inputs[0], learnt);
  if (!overlap || !addsUp(graph, quotient.inputs[1], overlap->predicted) ||
      !addsUp(graph, quotient.inputs[1], overlap->mask))
    return;
  const Node* maker = unboundedMaker(graph, overlap->predicted);
  if (!maker) return;
  Finding finding = findingAtNode(
      context, overlap->product->id,
      "an overlap (Dice, IoU) is computed of what comes straight out of " + maker->name +
          ", which may be any number: the areas that " + quotient.name +
          " divides by may be zero or negative, and the loss below zero; it takes probabilities");
  finding.advice = "Give it sigmoid(logits), or the softmax over the classes.";
  context.findings.push_back(std::move(finding));
}

}  // namespace msdbg::watch
