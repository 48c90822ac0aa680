#include "watchpoints/conditions/kept_gradient.h"

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;
using core::TensorInfo;

bool sameElements(const Graph& graph, TensorId a, TensorId b) {
  const core::Shape &x = graph.tensor(a).shape, &y = graph.tensor(b).shape;
  return x.known() && y.known() && x.elements() == y.elements();
}

/// Back from the gradient that an update reads, past clipping and the like, to the sum in AccumulateGrad: the
/// source that it is added to. Invalid: there is none.
TensorId addedTo(const Graph& graph, TensorId gradient) {
  constexpr int kDeepest = 8;
  for (int steps = 0; steps < kDeepest && gradient.valid(); ++steps) {
    const Node* node = producerOf(graph, gradient);
    if (!node || node->inputs.empty()) return {};
    const TensorId first = node->inputs.front();
    if (!sameElements(graph, first, gradient)) return {};
    const bool sums = node->phase == core::Phase::kBackward && node->inputs.size() == 2 &&
                      node->scope.ends_with("/AccumulateGrad");
    const TensorInfo& info = graph.tensor(first);
    if (sums && info.isSource()) return info.role == core::TensorRole::kConstant ? first : TensorId();
    gradient = first;
  }
  return {};
}

}  // namespace

KeptGradients::KeptGradients(const Graph& graph) {
  for (ParameterUpdate& update : parameterUpdates(graph))
    if (update.gradient.valid())
      if (const TensorId old = addedTo(graph, update.gradient); old.valid())
        m_kept.push_back({std::move(update), old, 0});
}

void KeptGradients::evaluate(EvaluationContext& context) {
  if (!context.beforeSelected) return;
  for (Kept& kept : m_kept)
    for (const core::Rank rank : context.ranks) {
      const StatisticsRow *old = context.rows.now(rank, kept.old),
                          *before = context.rows.before(rank, kept.update.gradient);
      if (!old || !before || old->values.hash != before->values.hash) continue;
      if (old->values.nonFinite() > 0 || old->values.zero == old->values.count || ++kept.times != 2) continue;
      Finding finding =
          findingAt(context, {context.iteration, rank, kept.update.next}, precedence::kNotChanged);
      finding.detail =
          "its gradient still holds that of iteration " + std::to_string(context.iteration.value - 1) +
          ", bit for bit, with the new one added: nobody sets gradients to zero between two steps";
      finding.advice = "Call optimizer.zero_grad() once for each step, before backward().";
      finding.severity = Severity::kFault;
      context.findings.push_back(std::move(finding));
    }
}

}  // namespace msdbg::watch
