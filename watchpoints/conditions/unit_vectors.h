// Tensors that were divided by their norm. Pure functions of the graph; thread-safe.
#pragma once

#include <optional>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// Of x over the root of the sum of its squares, past reshapes and casts: what computes the root, or the sum.
/// nullptr: it is none.
const core::Node* normOfUnitVector(const core::Graph& graph, core::TensorId tensor);

/// The one axis that a norm runs along, counted from the front; nullopt: several, or nobody knows.
std::optional<std::size_t> axisOfNorm(const core::Graph& graph, const core::Node& norm);

/// Whether a product of two matrices sums over another axis of its first factor than that which the norm of
/// it runs along. False where nobody knows.
bool isAlongAnotherAxis(const core::Graph& graph, const core::Node& product, const core::Node& norm);

}  // namespace msdbg::watch
