// What the recorded inputs of all ranks say about the results of a collective. Used from one thread.
#pragma once

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

bool isSum(const core::Node& collective);  // over its ranks

/// What a collective gave on a rank, and what of whom it was made.
struct Gathered {
  const core::Node& node;
  core::Rank rank;
  Step::Meeting meeting;
};
/// Of those of the group that the rank meets: ((x_0 + x_1) + x_2) + … of the recorded inputs; of what is
/// received the value that was sent. kUnavailable: one is not stored, or ranks are missing.
core::Result<core::Tensor> recomputeCollective(EvaluationContext& context, const Gathered& gathered);

/// Ranks whose result is bit for bit their own input although other ranks had something to add.
std::vector<core::Rank> ranksThatKeptTheirInput(EvaluationContext& context, const Gathered& gathered);

/// Ranks whose mean is not the sum of the inputs' means, beyond rounding: mean(sum x_r) = sum mean(x_r).
/// Needs only statistics; finds most wrong sums, proves none right. nullopt: rows are missing or hold NaN or
/// Inf.
std::optional<std::vector<core::Rank>> ranksOffTheMean(EvaluationContext& context, const Gathered& gathered);

}  // namespace msdbg::watch
