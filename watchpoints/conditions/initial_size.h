// What weights are usually initialised to. Pure functions of the graph; thread-safe.
#pragma once

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::watch {

/// What a weight's outputs sum over; 0 where it is no matrix of a layer (an embedding, a scale). The usual
/// size of its elements is sqrt(2 / fan-in) (He et al. 2015).
double fanInOf(const core::Graph& graph, core::TensorId weight);

/// Whether a weight may be as it was drawn: uniform or normal around zero, within five errors of a sample of
/// its size. What was trained has longer tails.
bool mayBeAsDrawn(const core::TensorStatistics& values);

}  // namespace msdbg::watch
