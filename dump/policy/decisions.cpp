#include "dump/policy/decisions.h"

#include <algorithm>

namespace msdbg::dump {
namespace {

core::Result<std::vector<RuleMatcher>> matchersOf(const core::Graph& graph, std::span<const Rule> rules) {
  std::vector<RuleMatcher> matchers;
  for (const Rule& rule : rules) {
    auto matcher = RuleMatcher::make(withFullNames(rule, graph));
    if (!matcher.ok()) return matcher.error().in("rule " + ruleText(rule));
    matchers.push_back(std::move(matcher).value());
  }
  return matchers;
}

bool always(const Rule& rule) {
  const std::span<const core::IndexList::Range> ranges = rule.iterations.ranges();
  return rule.every == 1 && ranges.size() == 1 && ranges[0].first == 0 &&
         ranges[0].last == core::IndexList::kOpen;
}

}  // namespace

core::Result<Decisions> Decisions::make(const core::Graph& graph, const RecordOptions& options,
                                        core::Rank rank) {
  Decisions decisions;
  decisions.m_rules = options.allRules();
  const std::vector<Rule>& rules = decisions.m_rules;
  MSDBG_ASSIGN(const std::vector<RuleMatcher> matchers, matchersOf(graph, rules));
  for (const core::TensorInfo& tensor : graph.tensors()) {
    std::vector<std::size_t>& candidates = decisions.m_candidates.emplace_back();
    for (std::size_t r = 0; r < rules.size() && (candidates.empty() || !always(rules[candidates.back()]));
         ++r)
      if (rules[r].ranks.contains(rank.value) && matchers[r].fits(graph, tensor)) candidates.push_back(r);
  }
  return decisions;
}

std::size_t Decisions::ruleOf(core::TensorId tensor, core::Iteration iteration) const {
  for (const std::size_t rule : m_candidates[tensor.index()])
    if (m_rules[rule].appliesIn(iteration)) return rule;
  return m_rules.size() - 1;
}

Policy Decisions::most(core::TensorId tensor) const {
  Policy most = Policy::kNone;
  for (const std::size_t rule : m_candidates[tensor.index()]) most = std::max(most, m_rules[rule].policy);
  return most;
}

}  // namespace msdbg::dump
