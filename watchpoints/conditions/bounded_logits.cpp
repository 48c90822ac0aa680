// Logits that are cosines: with nothing to stretch them the softmax stays nearly flat, and the cross-entropy
// above a floor that training reaches and never leaves.
#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// Whether it is x over the root of the sum of its squares.
bool isUnitVector(const Graph& graph, TensorId tensor) {
  static constexpr auto kOfTheNorm =
      std::to_array<std::string_view>({"Sqrt", "Add", "Max", "Clip", "Expand", "Reshape", "Unsqueeze"});
  static constexpr auto kSums = std::to_array<std::string_view>({"ReduceSum", "ReduceSumSquare", "ReduceL2"});
  const Node* quotient = makerOf(graph, tensor);
  if (!quotient || quotient->opType != "Div") return false;
  bool root = false;
  const Node* norm = producerOf(graph, quotient->inputs[1]);
  for (int steps = 0; steps < 6 && isOneOf(norm, kOfTheNorm); ++steps) {
    root = root || norm->opType == "Sqrt";
    norm = producerOf(graph, norm->inputs.front());
  }
  if (!isOneOf(norm, kSums) || (!root && norm->opType != "ReduceL2")) return false;
  const Node* squares = producerOf(graph, norm->inputs.front());
  const TensorId x = quotient->inputs.front();
  return norm->inputs.front() == x ||
         (squares && (squares->opType == "Mul" || squares->opType == "Pow") && squares->inputs.front() == x);
}

/// By how much the cosines are stretched before the softmax; nullopt: they are none, or a parameter says it.
std::optional<double> scaleOfCosines(const Graph& graph, TensorId logits) {
  double scale = 1;
  for (int steps = 0; steps < 8; ++steps) {
    const Node* node = makerOf(graph, logits);
    if (!node || node->inputs.size() < 2) return std::nullopt;
    if (node->opType == "MatMul" || node->opType == "Gemm") {
      const bool cosines = isUnitVector(graph, node->inputs[0]) && isUnitVector(graph, node->inputs[1]);
      return cosines ? std::optional(std::abs(scale)) : std::nullopt;
    }
    const std::optional<double> factor = constantOf(graph, node->inputs[1]);
    if (!factor || *factor == 0 || (node->opType != "Mul" && node->opType != "Div")) return std::nullopt;
    scale *= node->opType == "Mul" ? *factor : 1 / *factor;
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
    const std::string most = core::formatShort(*scale);
    context.findings.push_back(findingAtNode(
        context, producerOf(graph, loss.inputs.front())->id,
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
