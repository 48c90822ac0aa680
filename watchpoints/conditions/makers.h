// Who made the values of a tensor, past what only moves them or changes their type. Pure functions of the
// graph; thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

/// nullptr: a source.
const core::Node* producerOf(const core::Graph& graph, core::TensorId tensor);
/// The tensor before reshapes, transpositions and casts.
core::TensorId originOf(const core::Graph& graph, core::TensorId tensor);
/// Nodes of the forward pass that read a tensor, or a Cast of it in mixed precision, with the tensor that
/// they read.
std::vector<std::pair<const core::Node*, core::TensorId>> forwardReaders(const core::Graph& graph,
                                                                         core::TensorId tensor);
/// The node that made the origin; nullptr: a source.
const core::Node* makerOf(const core::Graph& graph, core::TensorId tensor);
/// Of a constant whose elements are all equal.
std::optional<double> constantOf(const core::Graph& graph, core::TensorId tensor);
/// Of an operator of two operands of which one is inputs[operand]: the other one, if it is a constant, be it
/// a tensor or a number that PyTorch was given.
std::optional<double> constantBeside(const core::Graph& graph, const core::Node& node, std::size_t operand);
/// Add, Sub, and Mul, ours or PyTorch's, which may read parts of larger tensors; false for nullptr.
bool isSum(const core::Node* node);
bool isProduct(const core::Node* node);
/// What compares its two inputs by their difference: Sub, and the errors that PyTorch computes of one.
bool isComparison(const core::Node& node);
/// What sums and differences, one within the other, make of a tensor: what they add, and what they subtract.
/// Itself where it is no sum.
struct Summand {
  core::TensorId tensor;
  bool subtracted = false;
};
std::vector<Summand> summandsOf(const core::Graph& graph, core::TensorId tensor);
/// x where the tensor is x * x or x ** n; invalid: it is neither.
core::TensorId squaredInput(const core::Graph& graph, core::TensorId tensor);
/// Brought by the batch.
bool isData(const core::Graph& graph, core::TensorId tensor);
/// Tensors that a parameter has a part in, by index.
std::vector<bool> learntTensors(const core::Graph& graph);
/// Nodes that a gradient is computed for: a backward node comes from them. By index.
std::vector<bool> differentiatedNodes(const core::Graph& graph);
/// Of learntTensors() those that a gradient comes back to; the same, where no backward pass is recorded. What
/// a network gives under no_grad() is made of parameters and a target nonetheless.
std::vector<bool> differentiatedTensors(const core::Graph& graph);
/// Tensors that the given one has a part in, by index.
std::vector<bool> madeFrom(const core::Graph& graph, core::TensorId tensor);
/// Tensors that have a part in the given one, by index.
std::vector<bool> partsOf(const core::Graph& graph, core::TensorId tensor);
std::vector<bool> partsOf(const core::Graph& graph, std::span<const core::TensorId> tensors);  // in any
/// The tensor before factors that are numbers, and signs.
core::TensorId unscaled(const core::Graph& graph, core::TensorId tensor);

/// False for nullptr.
template <std::size_t n>
bool isOneOf(const core::Node* node, const std::array<std::string_view, n>& types) {
  return node && std::ranges::find(types, node->opType) != types.end();
}

/// The operator that a mask begins with: the comparison or triangle among those that it was computed by; else
/// its last operator. Invalid: it is a source.
core::NodeId maskMaker(const core::Graph& graph, core::TensorId mask);

}  // namespace msdbg::watch
