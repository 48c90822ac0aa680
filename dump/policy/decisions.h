// Decisions: the rules of a recording applied to one graph on one rank. The rules that fit a tensor are found
// once; what is left for every step is a look at one or two of them. Immutable; thread-safe.
#pragma once

#include "core_engine/base/ids.h"
#include "dump/policy/record_options.h"

namespace msdbg::dump {

class Decisions {
 public:
  /// kUsage: a rule's regular expression is none.
  static core::Result<Decisions> make(const core::Graph& graph, const RecordOptions& options,
                                      core::Rank rank);

  /// What is kept of the tensor in an iteration that is recorded at all.
  Policy decide(core::TensorId tensor, core::Iteration iteration) const {
    return m_rules[ruleOf(tensor, iteration)].policy;
  }
  /// The rule that decides, as an index into rules().
  std::size_t ruleOf(core::TensorId tensor, core::Iteration iteration) const;
  /// The most that may be kept of it in any iteration: what it has room for in a segment.
  Policy most(core::TensorId tensor) const;

  /// RecordOptions::allRules(); the last one fits everything.
  std::span<const Rule> rules() const { return m_rules; }
  /// The rules that may decide about a tensor on this rank, in their order.
  std::span<const std::size_t> candidates(core::TensorId tensor) const {
    return m_candidates[tensor.index()];
  }

 private:
  Decisions() = default;
  std::vector<Rule> m_rules;
  std::vector<std::vector<std::size_t>> m_candidates;  // by tensor; the last one always applies
};

}  // namespace msdbg::dump
