// Whether a node that was translated has the shapes that our operator needs. Pure functions; thread-safe.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// Our operator makes the shapes of the node's outputs of those of its inputs; unknown shapes fit anything.
bool shapesAreInferred(const core::Graph& graph, const core::Node& ours);

/// A product of two matrices: the output is [M, N], the second factor [K, N] or [N, K], the first anything of
/// M * K elements, as the rows of a batch are. Sets transA and transB where `ours` is a Gemm.
bool isProductOfMatrices(const core::Graph& graph, const core::Node& theirs, core::Node& ours);

/// One input of the output's elements, in whatever shape: an operator that works element by element.
bool hasElementsOfOutput(const core::Graph& graph, const core::Node& theirs, core::Node& ours);

/// The same of several inputs; or they broadcast to the output.
bool haveElementsOfOutput(const core::Graph& graph, const core::Node& theirs, core::Node& ours);

/// The axis is the last one, and the input has the output's elements in rows of the same length.
bool hasRowsOfOutput(const core::Graph& graph, const core::Node& theirs, core::Node& ours);

}  // namespace msdbg::watch
