// One node in float64, by its operator's reference kernel. Pure functions of their arguments; thread-safe.
#pragma once

#include <span>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/ops/op.h"

namespace msdbg::replay {

/// Whether the node can be run so: kUnsupported, in words. `graph`: Graph::withFloatingDType(Float64),
/// verified.
core::Status checkInFloat64(const core::Graph& graph, const core::Node& node);

/// Outputs of the dtypes and shapes that `graph` has; the inputs have theirs. Errors of the kernel: a label
/// or index that is out of range. Throws core::OutOfMemory.
core::Result<std::vector<core::Tensor>> runInFloat64(const core::Graph& graph, const core::Node& node,
                                                     std::span<const core::Tensor> inputs,
                                                     const core::RunState& state);

/// Whether an input only chooses (the sign of X in ReluGrad, the largest in MaxPoolGrad): such are taken as
/// recorded, so that float64 goes through the branches that the training took.
bool onlyChooses(const core::Node& node, std::size_t input);

}  // namespace msdbg::replay
