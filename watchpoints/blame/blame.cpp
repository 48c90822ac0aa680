#include "watchpoints/blame/blame.h"

#include "core_engine/graph/graph_text.h"
#include "watchpoints/blame/rules_internal.h"

namespace msdbg::watch {
namespace {

/// The type of the forward operator that a backward node was made for; "" for others.
std::string forwardType(const core::Graph& graph, const core::Node& node) {
  if (node.phase != core::Phase::kBackward || !node.derivedFrom.valid()) return {};
  return asBlamed(graph.node(node.derivedFrom)).opType;
}

/// "Div"; "aten.rsqrt" of aten.rsqrt_.default.
std::string ruleType(const core::Node& node) {
  const std::string prefix = node.domain + ".";
  if (node.isOwn() || !node.opType.starts_with(prefix)) return node.opType;
  core::Node theirs = node;
  theirs.opType.erase(0, prefix.size());
  return prefix + std::string(core::plainType(theirs));
}

bool isOf(const Rule& rule, const core::Node& node, std::string_view type) {
  if (!rule.opType.ends_with(".*")) return rule.opType == type;
  return rule.opType.substr(0, rule.opType.size() - 2) == node.domain;
}

}  // namespace

std::optional<Blame> blameOperator(Source& source, core::Rank rank, core::Iteration iteration,
                                   const core::Node& node, core::TensorId output, Wrong wrong) {
  Look look(source, rank, iteration, node, output, wrong);
  const std::string forward = forwardType(source.graph(), node);
  const std::string type = ruleType(look.node());
  for (const Rule& rule : blameRules()) {
    if (!isOf(rule, look.node(), type) || rule.wrong != wrong) continue;
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
