// Data of another scale, wherever weights first meet them: also what a program makes of its data before the
// model. Used from one thread.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

/// What no parameter has a part in and a weight is multiplied with, by weight.
std::map<core::TensorId, std::vector<core::TensorId>> entriesByWeight(const core::Graph& graph);

/// Of these a finding where, in three iterations, one
/// weight meets data ten thousand times as large as others that it meets in the same iteration, or those of
/// one rank are a thousand times as large as those of all others.
class EntryScale {
 public:
  explicit EntryScale(const core::Graph& graph);
  void add(EvaluationContext& context);
  void finish(EvaluationContext& context);

 private:
  struct Outlier {
    int iterations = 0;
    Finding finding;  // of the first iteration
  };
  void compareUses(EvaluationContext& context, core::Rank rank, const std::vector<core::TensorId>& entries);
  void compareRanks(EvaluationContext& context, core::TensorId entry);
  void note(EvaluationContext& context, core::Rank rank, core::TensorId entry, double size, double other,
            const std::string& than);

  std::map<core::TensorId, std::vector<core::TensorId>> m_entries;  // by weight
  std::map<std::pair<core::Rank, core::TensorId>, Outlier> m_outliers;
};

}  // namespace msdbg::watch
