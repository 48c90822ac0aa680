#include <cmath>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/loss_parts.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

/// Over how many iterations the trainer takes the mean of the gradients; 1: it does not.
static std::int64_t accumulatedSteps(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.opType == "AccumulateGradient") return core::intAttribute(node.attributes, "steps", 1);
  return 1;
}

void checkAccumulation(EvaluationContext& context, TensorId loss) {
  const Graph& graph = context.graph();
  const std::int64_t steps = accumulatedSteps(graph);
  const Node* node = producerOf(graph, loss);
  if (steps < 2 || !node || (node->opType != "Mul" && node->opType != "Div")) return;
  const double constant = std::abs(constantOf(graph, node->inputs[1]).value_or(0));
  if (constant == 0) return;
  const double divisor = node->opType == "Div" ? constant : 1 / constant;
  if (std::abs(divisor / static_cast<double>(steps) - 1) > 1e-6) return;
  const std::string times = std::to_string(steps);
  context.findings.push_back(findingAtNode(context, node->id,
                                           "the loss is divided by " + times +
                                               ", and the trainer takes the mean over the gradients of " +
                                               times + " iterations itself (accumulate): every step is " +
                                               times + " times too small; leave out one of them"));
}

/// Samples in rows and in columns, the same ones: x times its own transpose.
static bool comparesWithItself(const Graph& graph, const Node& product) {
  if (product.opType != "MatMul") return false;
  const Node* right = producerOf(graph, product.inputs[1]);
  return right && right->opType == "Transpose" && right->inputs[0] == product.inputs[0];
}

void checkOwnSimilarity(EvaluationContext& context, const Node& crossEntropy) {
  const Graph& graph = context.graph();
  const Node* node = producerOf(graph, crossEntropy.inputs[0]);
  while (node && (node->opType == "Mul" || node->opType == "Div") &&
         graph.tensor(node->inputs[1]).shape.elements() == 1)
    node = producerOf(graph, node->inputs[0]);
  if (!node || !comparesWithItself(graph, *node)) return;
  context.findings.push_back(
      findingAtNode(context, node->id,
                    "every sample is compared with itself too: the diagonal of " + node->name +
                        " is the largest of its row, whatever was learnt; add -1e9 there"));
}

}  // namespace msdbg::watch
