// A Reshape that was to exchange axes: it leaves every element where it lies, so that an axis of the same
// size elsewhere in the shape is another one, made of pieces of two. The heads of an attention, channels
// taken to the end, batch and time of a sequence need a transposition.
#include <map>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/conditions/sample_parameter.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::Shape;
using core::TensorId;

/// An axis as it lies in memory, in elements: from `stride` to `end`, the stride of the next one outwards.
struct Axis {
  std::int64_t size, stride;
  std::int64_t end() const { return size * stride; }
};

/// Outermost first, those of one element left out.
std::vector<Axis> axesOf(std::span<const std::int64_t> sizes) {
  std::vector<Axis> axes;
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] > 1) axes.push_back({sizes[i], stride});
    stride *= sizes[i];
  }
  std::ranges::reverse(axes);
  return axes;
}

bool contains(std::span<const Axis> axes, const Axis& axis) {
  return std::ranges::any_of(
      axes, [&](const Axis& other) { return other.size == axis.size && other.stride == axis.stride; });
}

bool isBoundary(std::span<const Axis> axes, std::int64_t at) {
  return std::ranges::any_of(axes, [&](const Axis& axis) { return axis.stride == at || axis.end() == at; });
}

/// Whether an axis is made of two others of which one is cut through.
bool isTorn(std::span<const Axis> from, const Axis& axis) {
  const bool crosses = std::ranges::any_of(
      from, [&](const Axis& other) { return axis.stride < other.stride && other.stride < axis.end(); });
  return crosses && (!isBoundary(from, axis.stride) || !isBoundary(from, axis.end()));
}

/// Whether `to` may come of splitting axes and joining the parts with their neighbours: the ends of all axes
/// divide one another.
bool mayBeSplit(std::span<const Axis> from, std::span<const Axis> to) {
  std::vector<std::int64_t> ends;
  for (const std::span<const Axis> axes : {from, to})
    for (const Axis& axis : axes) ends.push_back(axis.stride), ends.push_back(axis.end());
  std::ranges::sort(ends);
  for (std::size_t i = 1; i < ends.size(); ++i)
    if (ends[i] % ends[i - 1] != 0) return false;
  return true;
}

/// The axis that is there in both shapes, by its size, but lies elsewhere in memory, made of pieces; nullopt:
/// none. The innermost one may be split into heads that are joined with the batch, and joined of them again:
/// as large as another one by chance.
std::optional<Axis> exchanged(std::span<const Axis> from, std::span<const Axis> to) {
  const bool split = mayBeSplit(from, to);
  for (const Axis& axis : from) {
    if (contains(to, axis) || (split && axis.stride == 1)) continue;
    for (const Axis& other : to)
      if (other.size == axis.size && isTorn(from, other) && !(split && other.stride == 1)) return axis;
  }
  return std::nullopt;
}

/// The axes of a tensor as its program means them: a row of [batch * time, width] is known to be of both
/// where a reshape merged them before a layer.
class MeantAxes {
 public:
  explicit MeantAxes(const Graph& graph) : m_graph(graph) {}

  std::vector<std::int64_t> of(TensorId tensor) {
    if (const auto known = m_known.find(tensor); known != m_known.end()) return known->second;
    const Shape& shape = m_graph.tensor(tensor).shape;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < shape.rank(); ++i) sizes.push_back(shape[i]);
    const Node* node = producerOf(m_graph, tensor);
    if (node && node->phase == core::Phase::kForward && !node->inputs.empty() && shape.known())
      sizes = split(sizes, candidates(*node, shape));
    return m_known.emplace(tensor, std::move(sizes)).first->second;
  }

  /// Of [rows, width] also by what it meets further on: a residual sum, labels, the reshape that takes the
  /// rows apart again.
  std::vector<std::int64_t> met(TensorId tensor) {
    constexpr std::size_t kMost = 16;
    const Shape& shape = m_graph.tensor(tensor).shape;
    if (shape.rank() != 2) return of(tensor);
    std::vector<TensorId> open{tensor};
    for (std::size_t i = 0; i < open.size() && i < kMost; ++i)
      for (const core::NodeId user : m_graph.consumers(open[i])) {
        const Node& node = m_graph.node(user);
        if (node.phase != core::Phase::kForward) continue;
        for (const TensorId other : node.inputs)
          if (!isFixed(other) && std::ranges::find(open, other) == open.end())
            if (const auto rows = rowsOf(other, shape); rows.size() > 2) return rows;
        const TensorId output = node.outputs.front();
        if (node.opType == "Reshape")
          if (const auto rows = rowsOf(output, shape); rows.size() > 2) return rows;
        const Shape& next = m_graph.tensor(output).shape;
        if (next.rank() == 2 && next[0] == shape[0]) open.push_back(output);
      }
    return of(tensor);
  }

 private:
  /// Sizes that the output's may be split into.
  std::vector<std::int64_t> candidates(const Node& node, const Shape& shape) {
    static constexpr auto kMoves =
        std::to_array<std::string_view>({"Reshape", "Flatten", "Squeeze", "Unsqueeze"});
    const bool looked = node.opType == "Gather" && node.inputs.size() > 1;
    const TensorId input = node.inputs[looked ? 1 : 0];
    const Shape& before = m_graph.tensor(input).shape;
    if (!before.known() || node.opType == "Transpose") return {};
    if (node.opType == "Gemm" || node.opType == "MatMul" || looked)
      return shape.rank() == 2 && before.rank() > 0 && before[0] == shape[0] ? rowsOf(input, shape)
                                                                             : std::vector<std::int64_t>();
    return isOneOf(&node, kMoves) || before == shape ? of(input) : std::vector<std::int64_t>();
  }

  /// A weight's axes say nothing about rows.
  bool isFixed(TensorId tensor) const {
    const core::TensorRole role = m_graph.tensor(tensor).role;
    return role == core::TensorRole::kParameter || role == core::TensorRole::kConstant;
  }

  /// The axes that the rows of the other tensor are made of, and the width of [rows, width].
  std::vector<std::int64_t> rowsOf(TensorId other, const Shape& shape) {
    std::vector<std::int64_t> rows;
    std::int64_t product = 1;
    for (const std::int64_t size : of(other)) {
      if (product >= shape[0]) break;
      product *= size;
      rows.push_back(size);
    }
    if (product != shape[0]) return {};
    rows.push_back(shape[1]);
    return rows;
  }

  /// Each size as the product of whole finer ones, where they make it; else as it is.
  static std::vector<std::int64_t> split(std::span<const std::int64_t> sizes,
                                         std::span<const std::int64_t> finer) {
    std::vector<std::int64_t> all;
    std::size_t next = 0;
    for (const std::int64_t size : sizes) {
      std::int64_t product = 1;
      const std::size_t begin = next;
      while (next < finer.size() && product < size) product *= finer[next++];
      if (product != size) return {sizes.begin(), sizes.end()};
      if (begin == next)
        all.push_back(size);
      else
        all.insert(all.end(), finer.begin() + static_cast<std::ptrdiff_t>(begin),
                   finer.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return all;
  }

  const Graph& m_graph;
  std::map<TensorId, std::vector<std::int64_t>> m_known;
};

std::string text(std::span<const std::int64_t> sizes) {
  std::string all;
  for (const std::int64_t size : sizes) all += (all.empty() ? "[" : ", ") + std::to_string(size);
  return all + "]";
}

void look(EvaluationContext& context, const Node& node, std::span<const std::int64_t> from,
          std::span<const std::int64_t> to) {
  const std::optional<Axis> axis = exchanged(axesOf(from), axesOf(to));
  if (!axis) return;
  context.findings.push_back(findingAtNode(
      context, node.id,
      "reshaping " + text(from) + " to " + text(to) + " moves no element: the axis of " +
          std::to_string(axis->size) +
          " is not taken elsewhere, and the new one of that size is made of pieces of others; reshape "
          "splits and joins neighbours only, exchanging axes takes a transpose"));
}

/// PyTorch's views are no operators of a recording; its recorder tells those that tear an axis.
bool isTornView(const Node& node) { return node.opType == "torch.reshape"; }

void question(EvaluationContext& context) {
  checkSampleParameter(context);
  const Graph& graph = context.graph();
  MeantAxes meant(graph);
  for (const Node& node : graph.nodes()) {
    if (isTornView(node)) {
      look(context, node, core::intsAttribute(node.attributes, "from", {}),
           core::intsAttribute(node.attributes, "to", {}));
      continue;
    }
    if (node.phase != core::Phase::kForward || node.opType != "Reshape") continue;
    const Shape& shape = graph.tensor(node.outputs.front()).shape;
    if (!shape.known() || !graph.tensor(node.inputs.front()).shape.known()) continue;
    std::vector<std::int64_t> to;
    for (std::size_t i = 0; i < shape.rank(); ++i) to.push_back(shape[i]);
    if (to.size() == 2) to = meant.met(node.outputs.front());
    look(context, node, meant.of(node.inputs.front()), to);
  }
}

}  // namespace

ConditionDef reshapeMixesAxesCondition() {
  ConditionDef def;
  def.id = "reshape_mixes_axes";
  def.title = "Axes are mixed up";
  def.doc =
      "From the graph: a Reshape gives an axis of the same size as one that it was given, at another place, "
      "and cuts through an axis for it: the heads of an attention, [batch, time, heads * width] to [batch, "
      "heads, time, width], channels taken to the end, batch and time exchanged. A hint: a parameter, or "
      "what "
      "is computed of counted places (sines), is broadcast so that it lies along the axis of the samples.";
  def.advice =
      "Split with reshape, then exchange with transpose: reshape(x, {B, T, H, D}), transpose(.., {0, 2, 1, "
      "3}); to join, transpose back first.";
  def.target = Target::kActivation;
  def.rowsOnly = true;
  def.make = [](const Graph&, const Parameters&, bool) { return onceOfGraph(question); };
  return def;
}

}  // namespace msdbg::watch
