#include "watchpoints/conditions/cancelling_uses.h"

#include "watchpoints/conditions/gradient_cause.h"

namespace msdbg::watch {

static constexpr int kOften = 10;  // iterations

void CancellingUses::look(EvaluationContext& context, const Place& place) {
  const core::Graph& graph = context.graph();
  const core::TensorInfo& gradient = graph.tensor(place.tensor);
  const ZeroCause cause = zeroCause(context, place.rank, place.tensor);
  if (cause.kind != ZeroCause::Kind::kHere || !isSumOfUses(graph.node(cause.node))) return;
  if (!gradient.shape.known() || gradient.shape.rank() < 2) return;
  Seen& seen = m_seen[{place.rank, place.tensor}];
  if (seen.iterations++ > 0) return;
  Finding finding = findingAt(context, place, precedence::kAllZero);
  finding.node = cause.node;
  finding.parameter = "zero_percentage_ge";
  finding.preset = finding.actual = 100;
  std::string uses;
  for (const core::TensorId input : graph.node(cause.node).inputs)
    uses += (uses.empty() ? "" : " and ") + graph.tensor(input).fullName();
  finding.detail = uses +
                   " cancel each other to the last bit, in every iteration: the loss compares something with "
                   "itself, and does not depend on " +
                   (gradient.gradientOf.valid() ? graph.tensor(gradient.gradientOf).name : "it");
  finding.advice =
      "Look for what is computed twice of the same weights, where one of both was to come from elsewhere: "
      "from "
      "the batch, from an older copy, or behind a stop of the gradient.";
  seen.finding = std::move(finding);
}

void CancellingUses::finish(EvaluationContext& context) {
  for (auto& [place, seen] : m_seen)
    if (seen.iterations >= kOften) context.findings.push_back(std::move(seen.finding));
}

}  // namespace msdbg::watch
