// What is recorded of which tensor: a list of rules. A rule fits a tensor on a rank in an iteration; the
// first that fits decides. On the command line a rule is one line of text, in JSON (a config file, run.json)
// an object; both have the same keys (kRuleKeys, the only list). Values; thread-safe when shared const.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/result.h"
#include "core_engine/base/text.h"
#include "core_engine/graph/graph.h"

namespace msdbg::dump {

/// What is kept of a tensor in an iteration, the more the later: nothing, its hash, how many of its elements
/// are NaN or Inf (without the hash: looking at all its bits is what that spares), its statistics with its
/// hash, and its value.
enum class Policy : std::uint8_t { kNone, kRecord, kFlags, kStats, kFull };
std::string_view policyName(Policy policy);  // "none", "record", "flags", "stats", "full"
/// kUsage: no such policy; names the nearest, or all.
core::Result<Policy> policyFromName(std::string_view name);

/// Every filter has to fit. One with several entries fits when one of them does, an empty one always.
struct Rule {
  Policy policy = Policy::kFull;
  std::vector<std::string> tensors = {};  // globs on name, name with slot, alias
  std::string regex = {};                 // ECMAScript; found anywhere in one of these names
  std::vector<std::string> ops = {};  // globs on the type of the operator that computed it; sources have none
  std::vector<core::TensorRole> kinds = {};
  std::vector<core::DType> dtypes = {};
  std::int64_t every = 1;  // iterations divisible by it
  core::IndexList iterations = core::IndexList::all(), ranks = core::IndexList::all();

  bool appliesIn(core::Iteration iteration) const {
    return iteration.value % every == 0 && iterations.contains(iteration.value);
  }
};

/// A key of a rule, by its name in both forms. Values are texts: `kind=weight,gradient` and
/// `"kind": ["weight", "gradient"]` are the same two.
struct RuleKey {
  std::string_view name;
  enum class Form { kText, kList, kNumber } form;  // in JSON; a list of one may be written as a text
  /// kUsage: what is wrong with the values, without saying where.
  core::Status (*set)(Rule& rule, const std::vector<std::string>& values);
  std::vector<std::string> (*get)(const Rule& rule);  // {} where the filter fits everything
};
std::span<const RuleKey> ruleKeys();
/// kUsage: no such key; names the nearest, or all.
core::Result<const RuleKey*> findRuleKey(std::string_view name);

/// `GLOB[,GLOB…]=full|stats|flags|record|none[,KEY=VALUE[,VALUE…]]…`, for example `grad(*)=full,every=10`;
/// `regex=` comes last, since it takes the rest of the text. kUsage: names the part that is wrong and what
/// there is instead.
core::Result<Rule> parseRule(std::string_view text);
std::string ruleText(const Rule& rule);  // parseRule() reads it back

/// The tensors that a glob of a rule fits, or the one that a name means (core::tensorsMeant).
/// kNotFound: none. kUsage: several end so.
core::Result<std::vector<core::TensorId>> tensorsMeant(const std::string& glob, const core::Graph& graph);
/// With the full names of tensors instead of ends of names that mean one; others stay as they are.
Rule withFullNames(Rule rule, const core::Graph& graph);

/// A rule made ready to be asked about many tensors; rank and iteration apart. Thread-safe.
class RuleMatcher {
 public:
  /// kUsage: the regular expression is none.
  static core::Result<RuleMatcher> make(const Rule& rule);
  RuleMatcher(RuleMatcher&&) noexcept;
  RuleMatcher& operator=(RuleMatcher&&) noexcept;
  ~RuleMatcher();

  bool fits(const core::Graph& graph, const core::TensorInfo& tensor) const;

 private:
  struct Impl;
  explicit RuleMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
