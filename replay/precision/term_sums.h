// The sums of |terms| that a node's rounding errors are measured by: float32 that adds terms up is wrong by
// about eps times the sum of what it adds, however little is left of it. Pure functions; thread-safe.
#pragma once

#include <span>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/ops/op.h"

namespace msdbg::replay {

/// For each floating output of the node a float64 tensor of its shape, an invalid one for the others. Where
/// the operator is linear in each input (contractions, sums, products, copies): the operator on |inputs|,
/// which is the sum of |terms|. Elsewhere |output| + how far it moves when inputs move by a relative amount,
/// over that amount (its condition; the signs of the moves are drawn by a fixed hash) + terms that the
/// formula has besides, as the 1 in exp(log_prob) - 1. `inputs`, `outputs`: in float64. Errors as
/// runInFloat64().
core::Result<std::vector<core::Tensor>> termSums(const core::Graph& graph, const core::Node& node,
                                                 std::span<const core::Tensor> inputs,
                                                 std::span<const core::Tensor> outputs,
                                                 const core::RunState& state);

}  // namespace msdbg::replay
