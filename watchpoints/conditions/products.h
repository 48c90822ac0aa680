// Products of two matrices: which axes they sum over. Pure functions of the graph; thread-safe.
#pragma once

#include <optional>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// MatMul, Gemm, aten.mm and their like, with two factors.
bool isMatrixProduct(const core::Node& node);

/// The axis of its factor 0 or 1, counted from the front, that a product sums over. Of PyTorch's, which reads
/// views, the recorder says how far apart its elements are. nullopt: nobody knows.
std::optional<std::size_t> summedAxis(const core::Graph& graph, const core::Node& product,
                                      std::size_t factor);

/// The same, of the tensor that transposes, casts and scales made that factor from, as far back as these go.
struct SummedAxis {
  core::TensorId tensor;
  std::size_t axis = 0;
};
std::optional<SummedAxis> summedAxisBehind(const core::Graph& graph, const core::Node& product,
                                           std::size_t factor);

/// The product of a Linear, whose bias may be added after it; nullptr: something else made the tensor.
const core::Node* linearOf(const core::Graph& graph, core::TensorId tensor);

}  // namespace msdbg::watch
