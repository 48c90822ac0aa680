#include "watchpoints/conditions/products.h"

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

constexpr auto kProducts =
    std::to_array<std::string_view>({"MatMul", "Gemm", "aten.mm", "aten.bmm", "aten.addmm"});

/// Of a tensor whose elements lie row by row; nullopt: none has elements so far apart.
std::optional<std::size_t> axisApart(const core::Shape& shape, std::int64_t stride) {
  std::int64_t apart = 1;
  for (std::size_t i = shape.rank(); i-- > 0; apart *= shape[i])
    if (shape[i] > 1 && apart == stride) return i;
  return std::nullopt;
}

/// Of what a transpose gives, the axis of what it reads.
std::size_t axisBefore(const Node& transpose, std::size_t axis, std::size_t rank) {
  const auto perm = foreignAttribute(transpose, "perm", std::vector<std::int64_t>());
  return axis < perm.size() ? static_cast<std::size_t>(perm[axis]) : rank - 1 - axis;
}

/// What is multiplied with a single number that is computed; else the tensor itself.
TensorId stretched(const Graph& graph, TensorId tensor) {
  const Node* node = producerOf(graph, tensor);
  if (!isProduct(node) || node->inputs.size() != 2) return tensor;
  for (const std::size_t i : {0, 1}) {
    const core::Shape& number = graph.tensor(node->inputs[i]).shape;
    if (number.known() && number.elements() == 1) return node->inputs[1 - i];
  }
  return tensor;
}

}  // namespace

bool isMatrixProduct(const Node& node) { return isOneOf(&node, kProducts) && node.inputs.size() >= 2; }

std::optional<std::size_t> summedAxis(const Graph& graph, const Node& product, std::size_t factor) {
  const core::Shape& shape = graph.tensor(product.inputs[factor]).shape;
  const std::size_t rank = shape.rank();
  if (!isMatrixProduct(product) || factor > 1 || rank < 2) return std::nullopt;
  const auto strides = foreignAttribute(product, fact::kInnerStrides, std::vector<std::int64_t>());
  if (strides.size() == 2) return axisApart(shape, strides[factor]);
  // What fits both ways is taken as it stands (meaning/fits.h), whatever view it was.
  const bool fitsBothWays = product.opType != "Gemm" || shape[0] == shape[1];
  if (product.domain == "aten" && fitsBothWays) return std::nullopt;
  if (product.opType == "MatMul") return factor == 0 ? rank - 1 : rank - 2;
  const bool turned = core::intAttribute(product.attributes, factor == 0 ? "transA" : "transB", 0) != 0;
  return (factor == 0) == turned ? 0 : 1;
}

std::optional<SummedAxis> summedAxisBehind(const Graph& graph, const Node& product, std::size_t factor) {
  static constexpr auto kPasses =
      std::to_array<std::string_view>({"Cast", "Identity", "StopGradient", "Dropout"});
  const std::optional<std::size_t> axis = summedAxis(graph, product, factor);
  if (!axis) return std::nullopt;
  SummedAxis behind{product.inputs[factor], *axis};
  for (;;) {
    behind.tensor = stretched(graph, unscaled(graph, behind.tensor));
    const Node* node = producerOf(graph, behind.tensor);
    if (node && node->opType == "Transpose")
      behind.axis = axisBefore(*node, behind.axis, graph.tensor(behind.tensor).shape.rank());
    else if (!isOneOf(node, kPasses))
      return behind;
    behind.tensor = node->inputs.front();
  }
}

const Node* linearOf(const Graph& graph, TensorId tensor) {
  static constexpr auto kLayers =
      std::to_array<std::string_view>({"Gemm", "MatMul", "aten.addmm", "aten.mm"});
  static constexpr auto kAdds = std::to_array<std::string_view>({"Add", "aten.add"});
  const Node* node = makerOf(graph, tensor);
  if (isOneOf(node, kAdds) && node->inputs.size() == 2) {
    const core::TensorInfo& bias = graph.tensor(node->inputs[1]);
    const bool isBias = bias.role == core::TensorRole::kParameter && bias.shape.rank() == 1;
    node = isBias ? makerOf(graph, node->inputs[0]) : nullptr;
  }
  return isOneOf(node, kLayers) ? node : nullptr;
}

}  // namespace msdbg::watch
