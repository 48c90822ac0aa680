// The keys of a rule, one row of the table each, and the names of their values.
#include <algorithm>
#include <charconv>

#include "dump/policy/rules.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::IndexList;
using core::Ok;
using core::Result;
using core::Status;
using core::TensorRole;

namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kLongestRegex = 1000;  // the library recurses over it
constexpr std::size_t kLongestNumber = 9;    // in a regular expression

constexpr struct {
  std::string_view name;
  Policy policy;
} kPolicies[] = {{"full", Policy::kFull},
                 {"stats", Policy::kStats},
                 {"flags", Policy::kFlags},
                 {"record", Policy::kRecord},
                 {"none", Policy::kNone}};

// The roles of the graph by their own names, and what people call a parameter.
constexpr struct {
  std::string_view name;
  TensorRole role;
} kKinds[] = {{"weight", TensorRole::kParameter},
              {"gradient", TensorRole::kGradient},
              {"activation", TensorRole::kActivation},
              {"optimizer_state", TensorRole::kOptimizerState},
              {"input", TensorRole::kInput},
              {"label", TensorRole::kLabel},
              {"loss", TensorRole::kLoss},
              {"updated", TensorRole::kUpdated},
              {"constant", TensorRole::kConstant},
              {"hyperparameter", TensorRole::kHyperparameter},
              {"parameter", TensorRole::kParameter}};

// "'weigth' is no kind; did you mean weight?", or all that there are.
Error unknown(std::string_view name, const std::string& what, const Texts& all) {
  const std::string near = core::didYouMean(name, all);
  return {ErrorCode::kUsage, "'" + std::string(name) + "' is no " + what +
                                 (near.empty() ? "; there are " + core::join(all, ", ") : near)};
}

Result<TensorRole> kindFromName(const std::string& name) {
  Texts all;
  for (const auto& row : kKinds) {
    if (row.name == name) return row.role;
    all.emplace_back(row.name);
  }
  return unknown(name, "kind", all);
}

std::string kindName(TensorRole role) {
  return std::string(std::ranges::find(kKinds, role, [](const auto& row) { return row.role; })->name);
}

Result<core::DType> dtypeOf(const std::string& name) {
  if (const auto dtype = core::dtypeFromName(name)) return *dtype;
  Texts all;
  for (const core::DType dtype : core::kDTypes) all.emplace_back(core::dtypeName(dtype));
  return unknown(name, "dtype", all);
}

Status noEmpty(const Texts& values) {
  if (!values.empty() && std::ranges::none_of(values, &std::string::empty)) return Ok{};
  return Error(ErrorCode::kUsage, "a value is missing");
}

Result<std::string> single(const Texts& values) {
  MSDBG_TRY(noEmpty(values));
  if (values.size() == 1) return values.front();
  return Error(ErrorCode::kUsage, "one value is expected, not " + std::to_string(values.size()));
}

template <typename T, typename Parse>
Status setEach(std::vector<T>& to, const Texts& values, Parse parse) {
  MSDBG_TRY(noEmpty(values));
  to.clear();
  for (const std::string& value : values) {
    MSDBG_ASSIGN(to.emplace_back(), parse(value));
  }
  return Ok{};
}

Status setGlobs(Texts& to, const Texts& values) {
  MSDBG_TRY(noEmpty(values));
  to = values;
  return Ok{};
}

Status setTensors(Rule& rule, const Texts& values) {
  MSDBG_TRY(setGlobs(rule.tensors, values));
  if (values == Texts{"*"}) rule.tensors.clear();  // no filter
  return Ok{};
}

Status setList(IndexList& to, const Texts& values) {
  MSDBG_TRY(noEmpty(values));
  MSDBG_ASSIGN(to, IndexList::parse(core::join(values, ",")));
  return Ok{};
}

Status setPolicy(Rule& rule, const Texts& values) {
  MSDBG_ASSIGN(const std::string name, single(values));
  MSDBG_ASSIGN(rule.policy, policyFromName(name));
  return Ok{};
}

Status setEvery(Rule& rule, const Texts& values) {
  MSDBG_ASSIGN(const std::string text, single(values));
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, rule.every);
  if (error == std::errc() && stop == end && rule.every >= 1) return Ok{};
  return Error(ErrorCode::kUsage, "'" + text + "' is not a whole number from 1");
}

// std::regex overflows on long ones (\\12345678901234567890, {12345678901234567890}).
std::size_t longestNumber(const std::string& text) {
  std::size_t longest = 0, digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    longest = std::max(longest, digits);
  }
  return longest;
}

Status setRegex(Rule& rule, const Texts& values) {
  MSDBG_ASSIGN(rule.regex, single(values));
  if (rule.regex.size() > kLongestRegex)
    return Error(ErrorCode::kUsage, "longer than " + std::to_string(kLongestRegex) + " characters");
  if (longestNumber(rule.regex) > kLongestNumber)
    return Error(ErrorCode::kUsage, "a number of more than " + std::to_string(kLongestNumber) + " digits");
  const auto matcher = RuleMatcher::make(rule);
  return matcher.ok() ? Status() : Status(matcher.error());
}

Texts textsOf(const IndexList& list) {
  const std::string text = list.text();
  return text == IndexList::all().text() ? Texts() : core::split(text, ',');
}

template <typename T, typename Name>
Texts namesOf(const std::vector<T>& values, Name name) {
  Texts names;
  for (const T& value : values) names.emplace_back(name(value));
  return names;
}

constexpr RuleKey kRuleKeys[] = {
    {"tensors", RuleKey::Form::kList, setTensors, [](const Rule& rule) { return rule.tensors; }},
    {"policy", RuleKey::Form::kText, setPolicy,
     [](const Rule& rule) { return Texts{std::string(policyName(rule.policy))}; }},
    {"kind", RuleKey::Form::kList,
     [](Rule& rule, const Texts& values) { return setEach(rule.kinds, values, kindFromName); },
     [](const Rule& rule) { return namesOf(rule.kinds, kindName); }},
    {"op", RuleKey::Form::kList, [](Rule& rule, const Texts& values) { return setGlobs(rule.ops, values); },
     [](const Rule& rule) { return rule.ops; }},
    {"dtype", RuleKey::Form::kList,
     [](Rule& rule, const Texts& values) { return setEach(rule.dtypes, values, dtypeOf); },
     [](const Rule& rule) { return namesOf(rule.dtypes, core::dtypeName); }},
    {"every", RuleKey::Form::kNumber, setEvery,
     [](const Rule& rule) { return rule.every == 1 ? Texts() : Texts{std::to_string(rule.every)}; }},
    {"iterations", RuleKey::Form::kText,
     [](Rule& rule, const Texts& values) { return setList(rule.iterations, values); },
     [](const Rule& rule) { return textsOf(rule.iterations); }},
    {"ranks", RuleKey::Form::kText,
     [](Rule& rule, const Texts& values) { return setList(rule.ranks, values); },
     [](const Rule& rule) { return textsOf(rule.ranks); }},
    // The last: it takes the rest of a text.
    {"regex", RuleKey::Form::kText, setRegex,
     [](const Rule& rule) { return rule.regex.empty() ? Texts() : Texts{rule.regex}; }}};

}  // namespace

std::string_view policyName(Policy policy) {
  return std::ranges::find(kPolicies, policy, [](const auto& row) { return row.policy; })->name;
}

Result<Policy> policyFromName(std::string_view name) {
  Texts all;
  for (const auto& row : kPolicies) {
    if (row.name == name) return row.policy;
    all.emplace_back(row.name);
  }
  return Error(ErrorCode::kUsage,
               "'" + std::string(name) + "' is no policy; there are " + core::join(all, ", "));
}

std::span<const RuleKey> ruleKeys() { return kRuleKeys; }

Result<const RuleKey*> findRuleKey(std::string_view name) {
  Texts all;
  for (const RuleKey& key : kRuleKeys) {
    if (key.name == name) return &key;
    all.emplace_back(key.name);
  }
  return unknown(name, "key", all);
}

}  // namespace msdbg::dump
