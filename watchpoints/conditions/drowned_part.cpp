#include "watchpoints/conditions/drowned_part.h"

#include <cmath>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

constexpr double kNothing = 1e-3;
constexpr std::int64_t kElements = 16, kIterations = 3;

/// A product of two tensors, neither of them a number: scaled element by element, or row by row. What is
/// scaled by a number is a little noise that is meant.
bool isScaled(const Graph& graph, TensorId tensor) {
  const Node* node = producerOf(graph, tensor);
  if (!isProduct(node) || node->inputs.size() != 2) return false;
  return std::ranges::all_of(node->inputs, [&](TensorId input) {
    return graph.tensor(input).shape.rank() > 0 && !constantOf(graph, input);
  });
}

}  // namespace

DrownedPart::DrownedPart(const Graph& graph) {
  const std::vector<bool> learnt = learntTensors(graph);
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || !isSum(&node) || node.inputs.size() != 2) continue;
    const core::TensorInfo& sum = graph.tensor(node.outputs.front());
    const bool given = std::ranges::all_of(node.inputs, [&](TensorId input) {
      return !learnt[input.index()] && isFloating(graph.tensor(input).dtype) &&
             graph.tensor(input).shape == sum.shape && isScaled(graph, input);
    });
    if (given && sum.shape.known() && sum.shape.elements() >= kElements)
      m_sums.push_back({node.id, {node.inputs[0], node.inputs[1]}});
  }
}

void DrownedPart::add(EvaluationContext& context) {
  if (m_sums.empty() || context.ranks.empty()) return;
  if (!m_begin.valid()) m_begin = context.iteration;
  for (Sum& sum : m_sums) {
    const core::Rank rank = context.rankWith(sum.parts[0]);
    double sizes[2] = {0, 0};
    bool known = true;
    for (const std::size_t i : {0, 1}) {
      const StatisticsRow* row = context.rows.now(rank, sum.parts[i]);
      known = known && row && row->values.count > 0 && row->values.nonFinite() == 0;
      if (known) sizes[i] = row->values.meanAbs;
    }
    if (!known) continue;
    ++context.evaluated;
    ++sum.iterations;
    for (const std::size_t i : {0, 1})
      sum.most[i] = std::max(sum.most[i], sizes[1 - i] > 0 ? sizes[i] / sizes[1 - i] : INFINITY);
  }
}

void DrownedPart::finish(EvaluationContext& context) const {
  const Graph& graph = context.graph();
  for (const Sum& sum : m_sums) {
    if (sum.iterations < kIterations) continue;
    for (const std::size_t i : {0, 1}) {
      if (sum.most[i] >= kNothing) continue;
      Finding finding = findingAtNode(
          context, producerOf(graph, sum.parts[i])->id,
          "it is added to " + graph.tensor(sum.parts[1 - i]).fullName() + " in " + graph.node(sum.node).name +
              ", and in no iteration is it more than " + core::formatShort(sum.most[i]) +
              " of that: of what it is made of next to nothing is left to learn from");
      finding.iteration = m_begin;
      finding.severity = Severity::kHint;
      finding.actual = sum.most[i], finding.preset = kNothing;
      finding.advice =
          "Look at the factor that it is scaled by: a schedule, a product of many small numbers.";
      context.findings.push_back(std::move(finding));
      return;
    }
  }
}

}  // namespace msdbg::watch
