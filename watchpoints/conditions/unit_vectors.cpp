#include "watchpoints/conditions/unit_vectors.h"

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/products.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

constexpr auto kJoins = std::to_array<std::string_view>({"Concat", "aten.cat"});

/// Of two views of a batch, one below the other, that are made unit vectors alike.
const Node* normOfJoined(const Graph& graph, const Node& joined) {
  const Node* first = nullptr;
  for (const TensorId input : joined.inputs) {
    const Node* norm = isOneOf(makerOf(graph, input), kJoins) ? nullptr : normOfUnitVector(graph, input);
    if (!norm || (first && axisOfNorm(graph, *norm) != axisOfNorm(graph, *first))) return nullptr;
    first = norm;
  }
  return first;
}

}  // namespace

const Node* normOfUnitVector(const Graph& graph, TensorId tensor) {
  static constexpr auto kOfTheNorm =
      std::to_array<std::string_view>({"Sqrt", "Add", "Max", "Clip", "Expand", "Reshape", "Unsqueeze",
                                       "Identity", "aten.clone", "aten.clamp_min_"});
  static constexpr auto kSums = std::to_array<std::string_view>(
      {"ReduceSum", "ReduceSumSquare", "ReduceL2", "aten.linalg_vector_norm"});
  const Node* quotient = makerOf(graph, tensor);
  if (isOneOf(quotient, kJoins)) return normOfJoined(graph, *quotient);
  if (!quotient || quotient->opType != "Div" || quotient->inputs.size() < 2) return nullptr;
  bool root = false;
  const Node* norm = producerOf(graph, quotient->inputs[1]);
  for (int steps = 0; steps < 6 && isOneOf(norm, kOfTheNorm); ++steps) {
    root = root || norm->opType == "Sqrt";
    norm = producerOf(graph, norm->inputs.front());
  }
  if (!isOneOf(norm, kSums)) return nullptr;
  const bool isRoot = norm->opType == "ReduceL2" || norm->opType == "aten.linalg_vector_norm";
  if (!root && !isRoot) return nullptr;
  const Node* squares = producerOf(graph, norm->inputs.front());
  const TensorId x = quotient->inputs.front();
  const bool squared = squares && (squares->opType == "Mul" || squares->opType == "Pow");
  return norm->inputs.front() == x || (squared && squares->inputs.front() == x) ? norm : nullptr;
}

std::optional<std::size_t> axisOfNorm(const Graph& graph, const Node& norm) {
  const std::size_t rank = graph.tensor(norm.inputs.front()).shape.rank();
  const std::vector<std::int64_t> axes =
      foreignAttribute(norm, norm.attributes.contains("axes") ? "axes" : "dim", std::vector<std::int64_t>());
  if (axes.size() != 1) return std::nullopt;
  const std::int64_t axis = axes[0] < 0 ? axes[0] + static_cast<std::int64_t>(rank) : axes[0];
  return axis >= 0 && axis < static_cast<std::int64_t>(rank) ? std::optional<std::size_t>(axis)
                                                             : std::nullopt;
}

std::optional<UnitVectors> unitVectorsOf(const Graph& graph, const Node& product) {
  if (!isMatrixProduct(product)) return std::nullopt;
  const std::optional<SummedAxis> sums[] = {summedAxisBehind(graph, product, 0),
                                            summedAxisBehind(graph, product, 1)};
  const auto normOf = [&](std::size_t factor) {
    return normOfUnitVector(graph, sums[factor] ? sums[factor]->tensor : product.inputs[factor]);
  };
  UnitVectors found;
  found.norm = normOf(0);
  if (!found.norm || !normOf(1)) return std::nullopt;
  if (!sums[0]) return found;
  const std::optional<std::size_t> axis = axisOfNorm(graph, *found.norm);
  const std::size_t rank = graph.tensor(found.norm->inputs.front()).shape.rank();
  if (!axis || rank != graph.tensor(sums[0]->tensor).shape.rank()) return found;
  found.summed = sums[0]->axis;
  found.alongAnother = *axis != sums[0]->axis;
  return found;
}

}  // namespace msdbg::watch
