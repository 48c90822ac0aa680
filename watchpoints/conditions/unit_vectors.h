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

/// Two tensors of unit vectors, as far as transposes and scales go back, and the axis that their product sums
/// over, of the first; nullopt where nobody knows.
struct UnitVectors {
  const core::Node* norm = nullptr;
  std::optional<std::size_t> summed;
  /// Along another axis than the norm: their products are no cosines. False where nobody knows.
  bool alongAnother = false;
};
/// nullopt: the factors of the product are others.
std::optional<UnitVectors> unitVectorsOf(const core::Graph& graph, const core::Node& product);

}  // namespace msdbg::watch
