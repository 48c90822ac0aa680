#include "watchpoints/blame/blame.h"

#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {
namespace {

/// The type of the forward operator that a backward node was made for; "" for others.
std::string_view forwardType(const core::Graph& graph, const core::Node& node) {
  if (node.phase != core::Phase::kBackward || !node.derivedFrom.valid()) return {};
  return graph.node(node.derivedFrom).opType;
}

}  // namespace

std::optional<Blame> blameOperator(Source& source, core::Rank rank, core::Iteration iteration,
                                   const core::Node& node, core::TensorId output, Wrong wrong) {
  Look look(source, rank, iteration, node, output, wrong);
  const std::string_view forward = forwardType(source.graph(), node);
  for (const Rule& rule : blameRules()) {
    if (rule.opType != node.opType || rule.wrong != wrong) continue;
    if (!rule.backwardOf.empty() && rule.backwardOf != forward) continue;
    std::optional<Blame> blame = rule.blame(look);
    if (!blame) continue;
    if (blame->advice.empty()) blame->advice = rule.advice;
    return blame;
  }
  return std::nullopt;
}

Wrong wrongOf(const core::TensorStatistics& values) {
  if (values.nonFinite() > 0) return Wrong::kNonFinite;
  return values.count > 0 && values.zero == values.count ? Wrong::kAllZero : Wrong::kExtreme;
}

}  // namespace msdbg::watch
