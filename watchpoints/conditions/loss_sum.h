// A loss that is a sum over samples, where a mean was meant. Pure functions of the graph; thread-safe.
#pragma once

#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// "the loss is a sum over 2048 values, not their mean: its gradients grow with their number"; "" where the
/// loss is no such sum, or is divided again.
std::string sumOfLoss(const core::Graph& graph);

}  // namespace msdbg::watch
