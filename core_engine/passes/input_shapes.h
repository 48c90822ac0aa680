// A model for inputs of other shapes: the operators infer every shape again, names and everything else stay.
// A pure function.
#pragma once

#include <span>
#include <utility>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

using InputShape = std::pair<TensorId, Shape>;

/// Of a model as it was built, before it is compiled for training. kUsage: an operator cannot take the new
/// shapes, such as a Gemm whose weight has another size (its node and line are named).
Result<Graph> withInputShapes(const Graph& graph, std::span<const InputShape> shapes);

}  // namespace msdbg::core
