#include "watchpoints/meaning/aten_fits.h"

#include "core_engine/ops/onnx_dtype.h"
#include "watchpoints/meaning/fits.h"

namespace msdbg::watch::aten {

using core::Graph;
using core::Node;
using core::Shape;

namespace {

/// Whether an attribute is not there, or is this number.
bool isNumber(const Node& node, std::string_view name, double wanted) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return true;
  const auto* number = std::get_if<double>(&found->second);
  const auto* integer = std::get_if<std::int64_t>(&found->second);
  return number ? *number == wanted : !integer || static_cast<double>(*integer) == wanted;
}

const Shape& shapeOf(const Graph& graph, core::TensorId tensor) { return graph.tensor(tensor).shape; }

bool sameElements(const Graph& graph, core::TensorId a, core::TensorId b) {
  const Shape &x = shapeOf(graph, a), &y = shapeOf(graph, b);
  return !x.known() || !y.known() || x.elements() == y.elements();
}

}  // namespace

bool isUnscaled(const Node& node) { return isNumber(node, "alpha", 1) && isNumber(node, "beta", 1); }

bool isOfZero(const Node& node) { return isNumber(node, "threshold", 0); }

bool hasBetaOne(const Node& node) { return isNumber(node, "beta", 1); }

bool hasOneInput(const Node& node) { return node.inputs.size() == 1; }

bool isTrueDivision(const Node& node) {
  const auto found = node.attributes.find("rounding_mode");
  const auto* mode = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return !mode || mode->empty() || *mode == "None";
}

bool isNotTransposed(const Node& node) {
  const auto found = node.attributes.find("transposed");
  const auto* flag = found == node.attributes.end() ? nullptr : std::get_if<bool>(&found->second);
  return !flag || !*flag;
}

bool castFits(const Graph& graph, const Node& theirs, Node& ours) {
  ours.attributes["to"] = core::onnxNumber(graph.tensor(theirs.outputs.front()).dtype);
  return hasElementsOfOutput(graph, theirs, ours);
}

namespace {

/// [1, 2] of theirs is [1, 2, 1, 2] of ours: the beginnings of all dimensions, then the ends.
void twice(const Node& theirs, std::string_view name, Node& ours) {
  const auto found = theirs.attributes.find(name);
  const auto* pads =
      found == theirs.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
  if (!pads) return;
  std::vector<std::int64_t> both = *pads;
  both.insert(both.end(), pads->begin(), pads->end());
  ours.attributes["pads"] = std::move(both);
}

}  // namespace

bool convolutionFits(const Graph& graph, const Node& theirs, Node& ours) {
  twice(theirs, "padding", ours);
  const Shape &x = shapeOf(graph, ours.inputs[0]), &w = shapeOf(graph, ours.inputs[1]),
              &y = shapeOf(graph, ours.outputs.front());
  if (!x.known() || !w.known() || !y.known()) return true;
  return x.rank() == y.rank() && w.rank() == y.rank() && y.rank() > 2 && x[0] == y[0] && w[0] == y[1];
}

bool poolingFits(const Graph& graph, const Node& theirs, Node& ours) {
  twice(theirs, "padding", ours);
  const Shape &x = shapeOf(graph, ours.inputs[0]), &y = shapeOf(graph, ours.outputs.front());
  if (!x.known() || !y.known()) return true;
  return x.rank() == y.rank() && y.rank() > 3 && x[0] == y[0] && x[1] == y[1];
}

bool layerNormFits(const Graph& graph, const Node& theirs, Node& ours) {
  const auto found = theirs.attributes.find("normalized_shape");
  const auto* shape =
      found == theirs.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
  if (shape) ours.attributes["axis"] = -static_cast<std::int64_t>(shape->size());
  return sameElements(graph, ours.inputs[0], ours.outputs.front());
}

bool normGradientFits(const Graph& graph, const Node&, Node& ours) {
  return sameElements(graph, ours.inputs[1], ours.outputs.front());
}

bool embeddingGradientFits(const Graph& graph, const Node& theirs, Node& ours) {
  const Shape &gradient = shapeOf(graph, ours.inputs[0]), &rows = shapeOf(graph, ours.inputs[1]),
              &table = shapeOf(graph, theirs.outputs.front());
  if (!gradient.known() || !rows.known() || !table.known()) return false;
  if (table.rank() != 2 || gradient.elements() != rows.elements() * table[1]) return false;
  ours.attributes["shape"] = std::vector<std::int64_t>{table[0], table[1]};
  return true;
}

}  // namespace msdbg::watch::aten
