// What weights are usually initialised to. Pure functions of the graph; thread-safe.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// What a weight's outputs sum over; 0 where it is no matrix of a layer (an embedding, a scale). The usual
/// size of its elements is sqrt(2 / fan-in) (He et al. 2015).
double fanInOf(const core::Graph& graph, core::TensorId weight);

}  // namespace msdbg::watch
