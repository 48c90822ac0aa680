// Parameters whose gradient is zero by mathematics: what they add to the keys of an attention shifts all
// scores of a query by the same, which the softmax over the keys takes out. Pure functions of the graph;
// thread-safe.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// Whether a bias, [width], is added to nothing but keys. False where the way to the softmax is not
/// understood: other operators than reshapes, transpositions, one product, factors, masks; views that are not
/// recorded.
bool isShiftOfKeys(const core::Graph& graph, core::TensorId bias);

}  // namespace msdbg::watch
