// Checks every invariant of a graph; called after every rewrite and after reading one from a file.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// kInternal/kDamaged error naming the node and the broken rule: ids are indices, inputs precede their node
/// (topological order), producers and slots agree, names and aliases unique, frames and kernels in range,
/// known operators' inferred dtypes and shapes equal the stored ones, every node of a graph with kernels is
/// covered by exactly one kernel.
Status verify(const Graph& graph);

}  // namespace msdbg::core
