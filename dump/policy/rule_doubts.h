// What a recording is asked for and will not do, told before it is made: probably a mistake. Pure functions.
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

/// One line each: no iteration is recorded at all; a rule is for no rank or recorded iteration; tensors are
/// chosen whose values are not kept.
std::vector<std::string> planDoubts(const RecordOptions& options, const PlannedRun& run);

/// One line for each rule that the rules before it leave nothing to decide; names them. `size`: of the same
/// options and run. kUsage: as Decisions::make().
core::Result<std::vector<std::string>> shadowedRules(const core::Graph& graph, const RecordOptions& options,
                                                     const PlannedRun& run, const ExpectedSize& size);

}  // namespace msdbg::dump
