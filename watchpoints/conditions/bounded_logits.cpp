// Logits that are cosines: with nothing to stretch them the softmax stays nearly flat, and the cross-entropy
// above a floor that training reaches and never leaves.
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/products.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/unit_vectors.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// By how much the cosines are stretched before the softmax; nullopt: they are none, or a parameter says it.
std::optional<double> scaleOfCosines(const Graph& graph, TensorId logits) {
  static constexpr auto kQuotients = std::to_array<std::string_view>({"Div", "aten.div"});
  double scale = 1;
  for (int steps = 0; steps < 8; ++steps) {
    const Node* node = makerOf(graph, logits);
    if (!node || node->inputs.empty()) return std::nullopt;
    if (node->opType == "aten.masked_fill") {  // each sample's own product with itself
      logits = node->inputs[0];
      continue;
    }
    if (isMatrixProduct(*node)) {
      const std::optional<UnitVectors> vectors = unitVectorsOf(graph, *node);
      const bool asTheyAre =
          normOfUnitVector(graph, node->inputs[0]) && normOfUnitVector(graph, node->inputs[1]);
      const bool cosines = asTheyAre && vectors && !vectors->alongAnother;
      return cosines ? std::optional(std::abs(scale)) : std::nullopt;
    }
    const std::optional<double> factor = constantBeside(graph, *node, 0);
    const bool product = isProduct(node);
    if (!factor || *factor == 0 || (!product && !isOneOf(node, kQuotients))) return std::nullopt;
    scale *= product ? *factor : 1 / *factor;
    logits = node->inputs[0];
  }
  return std::nullopt;
}

constexpr double kFlat = 0.3;  // of what guessing costs

void question(EvaluationContext& context) {
  const Graph& graph = context.graph();
  for (const Node& loss : graph.nodes()) {
    if (loss.phase != core::Phase::kForward) continue;
    if (loss.opType != "SoftmaxCrossEntropyLoss" && loss.opType != "LogSoftmax") continue;
    const core::Shape& shape = graph.tensor(loss.inputs.front()).shape;
    if (shape.rank() != 2 || shape[1] < 2) continue;
    const std::optional<double> scale = scaleOfCosines(graph, loss.inputs.front());
    if (!scale) continue;
    const double others = static_cast<double>(shape[1] - 1), guessing = std::log1p(others);
    const double floor = std::log1p(others * std::exp(-2 * *scale));
    if (floor < kFlat * guessing) continue;
    const Node* shown = producerOf(graph, loss.inputs.front());
    while (shown->opType == "aten.masked_fill") shown = producerOf(graph, shown->inputs.front());
    const std::string most = core::formatShort(*scale);
    context.findings.push_back(findingAtNode(
        context, shown->id,
        "the logits are cosines, between -" + most + " and " + most + ": over " + std::to_string(shape[1]) +
            " classes the cross-entropy cannot fall below " + core::formatShort(floor) +
            " (guessing: " + core::formatShort(guessing) + "); divide them by a temperature of 0.1 or less"));
  }
}

}  // namespace

ConditionDef boundedLogitsCondition() {
  ConditionDef def;
  def.id = "bounded_logits";
  def.title = "Logits without a temperature";
  def.doc =
      "From the graph: the logits of a cross-entropy are products of unit vectors, times a constant s. The "
      "loss cannot fall below log(1 + (n - 1) exp(-2 s)) for n classes; hit if that is more than 0.3 log(n).";
  def.advice = "Divide the cosines by a temperature (0.05 to 0.2 are usual), or let it be a parameter.";
  def.target = Target::kLoss;
  def.rowsOnly = true;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
