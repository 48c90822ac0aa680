#include "watchpoints/meaning/fits.h"

#include <algorithm>

#include "core_engine/ops/op.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::Shape;

/// Dtypes are not asked for: our operators have no 16-bit ones.
core::TensorType typeOf(const Graph& graph, core::TensorId tensor) {
  const core::TensorInfo& info = graph.tensor(tensor);
  return {isFloating(info.dtype) ? core::DType::Float32 : info.dtype, info.shape};
}

bool hasUnknown(const Graph& graph, const std::vector<core::TensorId>& tensors) {
  return !std::ranges::all_of(tensors, [&](core::TensorId id) { return graph.tensor(id).shape.known(); });
}

bool hasRequired(const core::OpDef& op, const core::Attributes& attributes) {
  return std::ranges::all_of(op.attributes, [&](const core::AttributeDoc& doc) {
    return doc.defaultValue != "required" || attributes.contains(doc.name);
  });
}

}  // namespace

bool shapesAreInferred(const Graph& graph, const Node& ours) {
  const core::OpDef* op = core::findOp(std::string_view(ours.opType));
  if (hasUnknown(graph, ours.inputs) || hasUnknown(graph, ours.outputs)) return true;
  if (!op || !op->infer || !hasRequired(*op, ours.attributes)) return false;
  std::vector<core::TensorType> types;
  for (const core::TensorId input : ours.inputs) types.push_back(typeOf(graph, input));
  const auto made = op->infer(types, ours.attributes);
  if (!made) return false;
  for (std::size_t i = 0; i < std::min(made->size(), ours.outputs.size()); ++i)
    if ((*made)[i].shape != graph.tensor(ours.outputs[i]).shape) return false;
  return true;
}

namespace {

/// Which way round a factor of a product lies: [rows, columns], or [columns, rows].
struct Lies {
  bool straight = false, turned = false;
};

Lies liesAs(const Shape& shape, std::int64_t rows, std::int64_t columns) {
  if (shape.rank() < 2 || shape.elements() != rows * columns) return {};
  const std::int64_t last = shape[shape.rank() - 1], first = shape[0];
  return {last == columns, shape.rank() == 2 ? last == rows : first == columns};
}

}  // namespace

bool isProductOfMatrices(const Graph& graph, const Node&, Node& ours) {
  if (ours.inputs.size() < 2 || ours.outputs.empty()) return false;
  const core::TensorInfo &a = graph.tensor(ours.inputs[0]), &b = graph.tensor(ours.inputs[1]);
  const Shape& out = graph.tensor(ours.outputs[0]).shape;
  if (!a.shape.known() || !b.shape.known() || !out.known()) return true;
  if (out.rank() != 2 || out.elements() == 0) return false;
  const std::int64_t inner = a.shape.elements() / out[0];
  const Lies left = liesAs(a.shape, out[0], inner), right = liesAs(b.shape, inner, out[1]);
  if ((!left.straight && !left.turned) || (!right.straight && !right.turned)) return false;
  // A square weight: nn.Linear keeps [out, in] and multiplies by its transpose.
  const bool weight = b.role == core::TensorRole::kParameter;
  const bool turned = right.turned && (weight || !right.straight);
  if (!left.straight) ours.attributes["transA"] = std::int64_t{1};
  if (turned) ours.attributes["transB"] = std::int64_t{1};
  return true;
}

bool hasElementsOfOutput(const Graph& graph, const Node&, Node& ours) {
  if (hasUnknown(graph, ours.inputs) || hasUnknown(graph, ours.outputs)) return true;
  const std::int64_t elements = graph.tensor(ours.outputs.front()).shape.elements();
  return graph.tensor(ours.inputs.front()).shape.elements() == elements;
}

bool haveElementsOfOutput(const Graph& graph, const Node&, Node& ours) {
  if (shapesAreInferred(graph, ours)) return true;
  const std::int64_t elements = graph.tensor(ours.outputs.front()).shape.elements();
  return std::ranges::all_of(
      ours.inputs, [&](core::TensorId input) { return graph.tensor(input).shape.elements() == elements; });
}

bool hasRowsOfOutput(const Graph& graph, const Node& theirs, Node& ours) {
  if (shapesAreInferred(graph, ours)) return true;
  const Shape &in = graph.tensor(ours.inputs[0]).shape, &out = graph.tensor(theirs.outputs[0]).shape;
  if (in.rank() == 0 || out.rank() == 0 || in.elements() != out.elements()) return false;
  const auto last = static_cast<std::int64_t>(out.rank()) - 1;
  const std::int64_t axis = core::intAttribute(ours.attributes, "axis", -1);
  if ((axis != -1 && axis != last) || in[in.rank() - 1] != out[out.rank() - 1]) return false;
  ours.attributes["axis"] = std::int64_t{-1};
  return true;
}

}  // namespace msdbg::watch
