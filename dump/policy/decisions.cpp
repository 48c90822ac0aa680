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

// ": 'weight' may mean a, b; give more of the name", where that is why a rule fits nothing.
std::string whyUnused(const core::Graph& graph, const Rule& rule) {
  for (const std::string& name : rule.tensors) {
    const auto meant = tensorsMeant(name, graph);
    if (!meant.ok() && meant.error().code() == core::ErrorCode::kUsage) return ": " + meant.error().message();
  }
  return "";
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

core::Result<std::vector<std::string>> unusedRules(const core::Graph& graph, std::span<const Rule> rules) {
  MSDBG_ASSIGN(const std::vector<RuleMatcher> matchers, matchersOf(graph, rules));
  std::vector<std::string> unused;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const auto fits = [&](const core::TensorInfo& tensor) { return matchers[r].fits(graph, tensor); };
    if (std::ranges::none_of(graph.tensors(), fits))
      unused.push_back(ruleText(rules[r]) + " fits no tensor of the graph" + whyUnused(graph, rules[r]));
  }
  return unused;
}

}  // namespace msdbg::dump
