#include "watchpoints/conditions/batch_axis.h"

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::Shape;
using core::TensorId;
using Kind = BatchPlace::Kind;

namespace {

std::size_t positive(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

/// 0: what the batch brings does not agree.
std::int64_t batchSize(const Graph& graph) {
  std::int64_t size = 0;
  for (const core::TensorInfo& info : graph.tensors()) {
    if (!isData(graph, info.id) || info.shape.rank() == 0) continue;
    if (size != 0 && info.shape[0] != size) return 0;
    size = info.shape[0];
  }
  return size > 1 ? size : 0;
}

/// Of an operator that brings its inputs together element by element.
BatchPlace together(std::span<const BatchPlace> places) {
  BatchPlace all{.kind = Kind::kNone};
  for (const BatchPlace& place : places) {
    if (place.kind == Kind::kUnknown) return {};
    if (place.kind == Kind::kNone || (place.kind == Kind::kGone && all.kind != Kind::kNone)) continue;
    if (all.kind == Kind::kAt && !all.samePlace(place)) return {};
    if (all.kind != Kind::kAt || !all.by.valid()) all = place;
  }
  return all;
}

/// In a result of `to` dimensions that those of the input are the last of.
BatchPlace aligned(BatchPlace place, std::size_t from, std::size_t to) {
  if (to < from) return {};
  place.axis += to - from;
  return place;
}

}  // namespace

BatchAxes::BatchAxes(const Graph& graph)
    : m_graph(graph), m_size(batchSize(graph)), m_places(graph.tensors().size()) {
  if (m_size == 0) return;
  for (const core::TensorInfo& info : graph.tensors()) {
    if (!info.isSource()) continue;
    const bool samples = isData(graph, info.id) && info.shape.rank() > 0;
    m_places[info.id.index()] = {.kind = samples ? Kind::kAt : Kind::kNone};
  }
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.empty()) continue;
    for (const TensorId output : node.outputs)
      if (graph.tensor(output).shape.known() && graph.tensor(node.inputs.front()).shape.known())
        m_places[output.index()] = placeOf(node, output);
  }
}

BatchPlace BatchAxes::placeOf(const Node& node, TensorId output) const {
  static constexpr auto kReduce = std::to_array<std::string_view>(
      {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare"});
  static constexpr auto kReshape =
      std::to_array<std::string_view>({"Reshape", "Flatten", "Squeeze", "Unsqueeze"});
  static constexpr auto kElementwise = std::to_array<std::string_view>(
      {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Where", "Equal", "Greater", "GreaterOrEqual", "Less",
       "LessOrEqual", "And", "Or", "Xor", "Expand"});
  if (isOneOf(&node, kReduce)) return reduced(node);
  if (isOneOf(&node, kReshape)) return reshaped(node, output);
  if (isOneOf(&node, kElementwise)) return elementwise(node, output);
  if (node.opType == "Transpose") return transposed(node);
  if (node.opType == "MatMul" || node.opType == "Gemm") return multiplied(node, output);
  if (node.opType == "Gather") return looked(node);
  return kept(node, output);
}

BatchPlace BatchAxes::reduced(const Node& node) const {
  BatchPlace place = of(node.inputs.front());
  if (place.kind != Kind::kAt) return place;
  const std::size_t rank = m_graph.tensor(node.inputs.front()).shape.rank();
  const std::vector<std::int64_t> axes = core::intsAttribute(node.attributes, "axes", {});
  const bool keeps = core::intAttribute(node.attributes, "keepdims", 1) != 0;
  if (axes.empty()) return {.kind = Kind::kGone, .by = node.id};
  std::size_t before = 0;
  for (const std::int64_t axis : axes) {
    if (positive(axis, rank) == place.axis) return {.kind = Kind::kGone, .by = node.id};
    before += positive(axis, rank) < place.axis;
  }
  if (!keeps) place.axis -= before;
  return place;
}

BatchPlace BatchAxes::transposed(const Node& node) const {
  BatchPlace place = of(node.inputs.front());
  if (place.kind != Kind::kAt) return place;
  const std::size_t rank = m_graph.tensor(node.inputs.front()).shape.rank();
  const std::vector<std::int64_t> order = core::intsAttribute(node.attributes, "perm", {});
  std::size_t to = rank - 1 - place.axis;  // without an order all are exchanged
  for (std::size_t i = 0; i < order.size(); ++i)
    if (positive(order[i], rank) == place.axis) to = i;
  if (to != place.axis) place.by = node.id;
  place.axis = to;
  return place;
}

/// No element moves: samples lie where they lay in memory, `inner * stride` apart.
BatchPlace BatchAxes::reshaped(const Node& node, TensorId output) const {
  BatchPlace place = of(node.inputs.front());
  if (place.kind != Kind::kAt) return place;
  const Shape &from = m_graph.tensor(node.inputs.front()).shape, &to = m_graph.tensor(output).shape;
  std::int64_t apart = place.inner;
  for (std::size_t i = place.axis + 1; i < from.rank(); ++i) apart *= from[i];
  std::int64_t stride = 1;
  for (std::size_t i = to.rank(); i-- > 0; stride *= to[i]) {
    if (apart >= stride * to[i]) continue;
    if (apart % stride != 0 || apart * m_size > stride * to[i]) return {};
    place.axis = i;
    place.inner = apart / stride;
    return place;
  }
  return {};
}

BatchPlace BatchAxes::multiplied(const Node& node, TensorId output) const {
  const std::size_t rank = m_graph.tensor(output).shape.rank();
  std::vector<BatchPlace> places;
  for (const std::size_t i : {0, 1}) {
    BatchPlace place = of(node.inputs[i]);
    const std::size_t own = m_graph.tensor(node.inputs[i]).shape.rank();
    if (own < 2) return {};
    if (place.kind == Kind::kAt) {
      if (core::intAttribute(node.attributes, i == 0 ? "transA" : "transB", 0) != 0)
        place.axis = own - 1 - place.axis;
      const std::size_t summed = i == 0 ? own - 1 : own - 2;
      if (place.axis != summed)
        place = aligned(place, own, rank);
      else if (of(node.inputs[1 - i]).kind == Kind::kNone)  // weights add them up
        place = {.kind = Kind::kGone, .by = place.by.valid() ? place.by : node.id};
      else
        return {};
    }
    places.push_back(place);
  }
  return together(places);
}

/// Rows picked from a table by what the batch brings; or of each sample the same ones.
BatchPlace BatchAxes::looked(const Node& node) const {
  const BatchPlace &data = of(node.inputs[0]), &indices = of(node.inputs[1]);
  const Shape &table = m_graph.tensor(node.inputs[0]).shape, &picked = m_graph.tensor(node.inputs[1]).shape;
  const std::size_t axis = positive(core::intAttribute(node.attributes, "axis", 0), table.rank());
  if (data.kind == Kind::kNone) {
    BatchPlace place = indices;
    place.axis += axis;
    return place;
  }
  if (data.kind != Kind::kAt || indices.kind != Kind::kNone || data.axis == axis) return {};
  BatchPlace place = data;
  if (place.axis > axis) place.axis = place.axis + picked.rank() - 1;
  return place;
}

BatchPlace BatchAxes::elementwise(const Node& node, TensorId output) const {
  std::vector<BatchPlace> places;
  for (const TensorId input : node.inputs)
    places.push_back(
        aligned(of(input), m_graph.tensor(input).shape.rank(), m_graph.tensor(output).shape.rank()));
  return together(places);
}

/// Any other operator keeps samples apart along axis 0, or where it leaves the whole shape as it is.
BatchPlace BatchAxes::kept(const Node& node, TensorId output) const {
  std::vector<BatchPlace> places;
  for (const TensorId input : node.inputs) places.push_back(of(input));
  const BatchPlace place = together(places);
  if (place.kind != Kind::kAt) return place;
  const Shape &from = m_graph.tensor(node.inputs.front()).shape, &to = m_graph.tensor(output).shape;
  static constexpr auto kParts = std::to_array<std::string_view>({"Split", "Slice", "Pad", "Concat"});
  const bool sameSize =
      place.axis < from.rank() && place.axis < to.rank() && from[place.axis] == to[place.axis];
  const bool known = place.axis == 0 || isOneOf(&node, kParts) || from == to;
  return sameSize && known ? place : BatchPlace{};
}

}  // namespace msdbg::watch
