#include "dump/policy/rules.h"

#include <algorithm>
#include <regex>
#include <set>

#include "core_engine/graph/names.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

constexpr std::string_view kHowToWrite =
    "a rule is GLOB=full|stats|flags|record|none[,KEY=VALUE]..., such as 'grad(*)=full,every=10'";

bool fitsRegex(const std::regex& regex, const core::TensorInfo& tensor) {
  return std::regex_search(tensor.name, regex) || std::regex_search(tensor.fullName(), regex) ||
         (!tensor.alias.empty() && std::regex_search(tensor.alias, regex));
}

template <typename T>
bool holds(const std::vector<T>& filter, const T& value) {
  return filter.empty() || std::ranges::find(filter, value) != filter.end();
}

// "every=10" set in the rule; `value` has its parts joined by commas.
core::Status setKey(Rule& rule, const std::string& name, const std::string& value) {
  MSDBG_ASSIGN(const RuleKey* key, findRuleKey(name));
  const bool whole = key->name == "regex";  // its commas are its own
  const core::Status set = key->set(rule, whole ? std::vector{value} : core::split(value, ','));
  return set.ok() ? set : core::Status(set.error().in(name));
}

// What stands behind the policy: KEY=VALUE parts; a part without `=` goes on with the list before it.
core::Status setKeys(Rule& rule, const std::vector<std::string>& parts) {
  std::set<std::string> given;
  for (std::size_t i = 0; i < parts.size();) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos)
      return Error(ErrorCode::kUsage, "'" + parts[i] + "' is no KEY=VALUE; " + std::string(kHowToWrite));
    const std::string name = parts[i].substr(0, equals);
    if (name == "tensors" || name == "policy")
      return Error(ErrorCode::kUsage, name + " is said in front already; " + std::string(kHowToWrite));
    if (!given.insert(name).second) return Error(ErrorCode::kUsage, "the key " + name + " is given twice");
    std::string value = parts[i].substr(equals + 1);
    for (++i; i < parts.size() && (name == "regex" || parts[i].find('=') == std::string::npos); ++i)
      value += "," + parts[i];
    MSDBG_TRY(setKey(rule, name, value));
  }
  return core::Ok{};
}

}  // namespace

Result<Rule> parseRule(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error(ErrorCode::kUsage, "'" + std::string(text) + "': " + std::string(kHowToWrite));
  const auto parse = [&]() -> Result<Rule> {
    Rule rule;
    std::vector<std::string> parts = core::split(text.substr(equals + 1), ',');
    MSDBG_TRY(setKey(rule, "tensors", std::string(text.substr(0, equals))));
    MSDBG_TRY(setKey(rule, "policy", parts.front()));
    parts.erase(parts.begin());
    MSDBG_TRY(setKeys(rule, parts));
    return rule;
  };
  Result<Rule> rule = parse();
  return rule.ok() ? rule : rule.error().in("'" + std::string(text) + "'");
}

std::string ruleText(const Rule& rule) {
  std::string text = rule.tensors.empty() ? "*" : core::join(rule.tensors, ",");
  text += "=" + std::string(policyName(rule.policy));
  for (const RuleKey& key : ruleKeys()) {
    if (key.name == "tensors" || key.name == "policy") continue;
    if (const std::vector<std::string> values = key.get(rule); !values.empty())
      text += "," + std::string(key.name) + "=" + core::join(values, ",");
  }
  return text;
}

Result<std::vector<core::TensorId>> tensorsMeant(const std::string& glob, const core::Graph& graph) {
  const std::vector<core::TensorId> found = core::tensorsMeant(graph, glob);
  if (found.empty()) return Error(ErrorCode::kNotFound, "no tensor of the model is named '" + glob + "'");
  if (found.size() == 1 || core::isGlob(glob)) return found;
  std::vector<std::string> names;
  for (const core::TensorId id : found) names.push_back(graph.tensor(id).fullName());
  return Error(ErrorCode::kUsage, core::ambiguousName(glob, names));
}

Rule withFullNames(Rule rule, const core::Graph& graph) {
  for (std::string& name : rule.tensors) {
    if (core::isGlob(name)) continue;
    const auto meant = tensorsMeant(name, graph);
    if (meant.ok() && meant->size() == 1) name = graph.tensor(meant->front()).fullName();
  }
  return rule;
}

struct RuleMatcher::Impl {
  Rule rule;
  std::regex regex;
};

Result<RuleMatcher> RuleMatcher::make(const Rule& rule) {
  auto impl = std::make_unique<Impl>();
  impl->rule = rule;
  try {
    impl->regex.assign(rule.regex, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return Error(ErrorCode::kUsage,
                 "'" + rule.regex + "' is no regular expression (ECMAScript): " + error.what());
  }
  return RuleMatcher(std::move(impl));
}

RuleMatcher::RuleMatcher(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
RuleMatcher::RuleMatcher(RuleMatcher&&) noexcept = default;
RuleMatcher& RuleMatcher::operator=(RuleMatcher&&) noexcept = default;
RuleMatcher::~RuleMatcher() = default;

bool RuleMatcher::fits(const core::Graph& graph, const core::TensorInfo& tensor) const {
  const Rule& rule = m_impl->rule;
  if (!holds(rule.kinds, tensor.role) || !holds(rule.dtypes, tensor.dtype)) return false;
  const auto named = [&](const std::string& glob) { return core::namesTensor(glob, tensor); };
  if (!rule.tensors.empty() && std::ranges::none_of(rule.tensors, named)) return false;
  if (!rule.regex.empty() && !fitsRegex(m_impl->regex, tensor)) return false;
  if (rule.ops.empty()) return true;
  return !tensor.isSource() && std::ranges::any_of(rule.ops, [&](const std::string& glob) {
    return core::globMatch(glob, graph.node(tensor.producer).opType);
  });
}

}  // namespace msdbg::dump
