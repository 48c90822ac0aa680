#include "watchpoints/conditions/key_shift.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::Shape;
using core::TensorId;

namespace {

using Axes = std::vector<bool>;  // of a tensor: those along which what was added differs

/// Reshaped: the last axes that differ are as many elements before and after; nullopt: others.
std::optional<Axes> reshaped(const Axes& differs, const Shape& from, const Shape& to) {
  std::int64_t width = 1;
  std::size_t axis = from.rank();
  while (axis > 0 && differs[axis - 1]) width *= from[--axis];
  if (std::find(differs.begin(), differs.begin() + static_cast<std::ptrdiff_t>(axis), true) !=
      differs.begin() + static_cast<std::ptrdiff_t>(axis))
    return std::nullopt;
  Axes after(to.rank());
  for (axis = to.rank(); axis > 0 && width > 1; --axis) {
    if (width % to[axis - 1] != 0) return std::nullopt;
    width /= to[axis - 1];
    after[axis - 1] = true;
  }
  return width == 1 ? std::optional(after) : std::nullopt;
}

std::optional<Axes> transposed(const Axes& differs, const Node& node) {
  std::vector<std::int64_t> perm(differs.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = core::intsAttribute(node.attributes, "perm", perm);
  if (perm.size() != differs.size()) return std::nullopt;
  Axes after;
  for (const std::int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(differs.size())) return std::nullopt;
    after.push_back(differs[static_cast<std::size_t>(axis)]);
  }
  return after;
}

class Way {
 public:
  explicit Way(const Graph& graph) : m_graph(graph) {}

  /// Whether all that reads the keys, or parts of scores, comes to a softmax over an axis along which nothing
  /// differs.
  bool isTakenOut(TensorId tensor, const Axes& differs, bool scores) const {
    const std::vector<core::NodeId>& users = m_graph.consumers(tensor);
    int forward = 0;
    for (const core::NodeId id : users) {
      const Node& node = m_graph.node(id);
      if (node.phase != core::Phase::kForward) continue;
      ++forward;
      if (node.opType == "Softmax" && scores) {
        if (!takesOut(node, differs)) return false;
        continue;
      }
      const std::optional<Axes> after = scores ? ofScores(node, differs) : ofKeys(node, tensor, differs);
      if (!after || !isTakenOut(node.outputs.front(), *after, scores || node.opType == "MatMul"))
        return false;
    }
    return forward > 0;
  }

 private:
  static bool takesOut(const Node& softmax, const Axes& differs) {
    const auto rank = static_cast<std::int64_t>(differs.size());
    const std::int64_t axis = core::intAttribute(softmax.attributes, "axis", -1);
    return axis >= -rank && axis < rank && !differs[static_cast<std::size_t>((axis + rank) % rank)];
  }

  std::optional<Axes> ofKeys(const Node& node, TensorId tensor, const Axes& differs) const {
    const Shape &from = m_graph.tensor(tensor).shape, &to = m_graph.tensor(node.outputs.front()).shape;
    if (!from.known() || !to.known() || from.rank() != differs.size()) return std::nullopt;
    if (node.opType == "Reshape") return reshaped(differs, from, to);
    if (node.opType == "Transpose") return transposed(differs, node);
    if (node.opType == "Mul" || node.opType == "Div") return ofScores(node, differs);
    // Of a product, as its second factor: along the keys, its last axis, nothing may differ; then nothing
    // does in the scores of one query.
    const bool second = node.opType == "MatMul" && node.inputs.size() == 2 && node.inputs[1] == tensor &&
                        node.inputs[0] != tensor;
    if (!second || differs.back() || to.rank() < 2) return std::nullopt;
    Axes after(to.rank(), true);
    after.back() = false;
    return after;
  }

  /// By a number, or with a mask: what differs along the same axes.
  std::optional<Axes> ofScores(const Node& node, const Axes& differs) const {
    const Shape& to = m_graph.tensor(node.outputs.front()).shape;
    if (!to.known() || to.rank() != differs.size()) return std::nullopt;
    const bool scales = (node.opType == "Mul" || node.opType == "Div") && node.inputs.size() == 2 &&
                        constantOf(m_graph, node.inputs[1]);
    const bool masks = node.opType == "Add" || node.opType == "Where" || node.opType == "Identity";
    return scales || masks ? std::optional(differs) : std::nullopt;
  }

  const Graph& m_graph;
};

}  // namespace

bool isShiftOfKeys(const Graph& graph, TensorId bias) {
  const core::TensorInfo& info = graph.tensor(bias);
  if (!info.shape.known() || info.shape.rank() != 1) return false;
  const Way way(graph);
  int layers = 0;
  for (const auto& [reader, read] : forwardReaders(graph, bias)) {
    const Node& node = *reader;
    const bool added = (node.opType == "Add" && node.inputs.size() == 2) ||
                       (node.opType == "Gemm" && node.inputs.size() > 2 && node.inputs[2] == read);
    const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
    if (!added || !shape.known() || shape.rank() == 0) return false;
    Axes differs(shape.rank());
    differs.back() = true;
    if (!way.isTakenOut(node.outputs.front(), differs, false)) return false;
    ++layers;
  }
  return layers > 0;
}

}  // namespace msdbg::watch
