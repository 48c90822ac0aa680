// What a recording is asked for and will not do: probably a mistake. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dump/policy/expected_size.h"

namespace msdbg::dump {

/// The iterations and ranks that there will be.
struct PlannedRun {
  int ranks = 1;
  std::int64_t first = 0;
  std::optional<std::int64_t> steps = {};  // unset: until the program ends

  std::int64_t last() const;         // IndexList::kOpen: nobody knows
  std::string iterations() const;    // "0-19"
  bool has(const Rule& rule) const;  // a rank that the rule is for
};

/// kNotFound: no tensor of the graph is named so; with the nearest. kUsage: several may be meant.
core::Status checkTensorName(const std::string& glob, const core::Graph& graph);

/// What of a rule means nothing in this graph: names of tensors and types of operators, each by itself, or
/// all its filters together. kNotFound; kUsage: a name may mean several tensors, the regular expression is
/// none.
std::vector<core::Error> ruleMistakes(const Rule& rule, const core::Graph& graph);

/// One line each: no iteration is recorded at all; a rule is for no rank or recorded iteration; tensors are
/// chosen whose values are not kept.
std::vector<std::string> planDoubts(const RecordOptions& options, const PlannedRun& run);

/// One line for each rule that the rules before it leave nothing to decide; names them. `size`: of the same
/// options and run. kUsage: as Decisions::make().
core::Result<std::vector<std::string>> shadowedRules(const core::Graph& graph, const RecordOptions& options,
                                                     const PlannedRun& run, const ExpectedSize& size);

}  // namespace msdbg::dump
