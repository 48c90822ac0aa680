#include "watchpoints/conditions/sample_parameter.h"

#include "watchpoints/conditions/batch_axis.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

constexpr auto kElementwise = std::to_array<std::string_view>({"Add", "Sub", "Mul", "Div"});

/// Along the axis that `samples` lie along in `other` when both are broadcast to one shape.
bool liesAlong(const core::Shape& shape, const core::Shape& other, const BatchPlace& samples) {
  if (!shape.known() || !other.known() || samples.inner != 1) return false;
  const std::size_t fromEnd = other.rank() - samples.axis;  // 1: the last one
  if (fromEnd > shape.rank()) return false;
  const std::int64_t size = shape[shape.rank() - fromEnd];
  return size > 1 && size == other[samples.axis];
}

/// Itself, or rows of it that places choose: what layers make of a state that begins alike for all samples is
/// of the size of the batch, too.
const core::TensorInfo* parameterIn(const Graph& graph, TensorId tensor) {
  TensorId origin = originOf(graph, tensor);
  if (const Node* maker = producerOf(graph, origin); maker && maker->opType == "Gather")
    origin = originOf(graph, maker->inputs[0]);
  const core::TensorInfo& info = graph.tensor(origin);
  return info.role == core::TensorRole::kParameter && info.trainable ? &info : nullptr;
}

/// Places that are counted (Range), and what is computed of them without data and without comparisons: sines
/// of places. Broadcast over another axis: a matrix of samples against samples has each of its own.
bool isOfPlaces(const Graph& graph, TensorId tensor, const core::Shape& other) {
  const core::Shape& shape = graph.tensor(tensor).shape;
  if (!isFloating(graph.tensor(tensor).dtype) || !shape.known() || shape.rank() != other.rank()) return false;
  bool isBroadcast = false, counts = false;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    isBroadcast = isBroadcast || (shape[axis] == 1 && other[axis] > 1);
  if (!isBroadcast) return false;
  const std::vector<bool> parts = partsOf(graph, tensor);
  for (const core::TensorInfo& info : graph.tensors()) {
    if (!parts[info.id.index()]) continue;
    if (isData(graph, info.id) || info.role == core::TensorRole::kParameter ||
        info.dtype == core::DType::Bool)
      return false;
    const Node* maker = producerOf(graph, info.id);
    counts = counts || (maker && maker->opType == "Range");
  }
  return counts;
}

/// "network/places"; "" where it is none of these.
std::string nameOf(const Graph& graph, TensorId tensor, const core::Shape& other) {
  if (const core::TensorInfo* parameter = parameterIn(graph, tensor)) return parameter->name;
  return isOfPlaces(graph, tensor, other) ? graph.tensor(tensor).fullName() : "";
}

}  // namespace

void checkSampleParameter(EvaluationContext& context) {
  const Graph& graph = context.graph();
  const BatchAxes axes(graph);
  if (axes.size() < 2) return;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || !isOneOf(&node, kElementwise) || node.inputs.size() != 2)
      continue;
    for (const std::size_t i : {0, 1}) {
      const TensorId parameter = node.inputs[i], other = node.inputs[1 - i];
      const BatchPlace &place = axes.of(parameter), &samples = axes.of(other);
      if (place.kind != BatchPlace::Kind::kNone) continue;
      if (samples.kind != BatchPlace::Kind::kAt ||
          !liesAlong(graph.tensor(parameter).shape, graph.tensor(other).shape, samples))
        continue;
      const std::string name = nameOf(graph, parameter, graph.tensor(other).shape);
      if (name.empty()) continue;
      Finding finding = findingAtNode(
          context, node.id,
          name + ", as " + graph.tensor(parameter).shape.text() + ", holds no data, and meets " +
              graph.tensor(other).shape.text() + " along axis " + std::to_string(samples.axis) +
              ", which is that of the " + std::to_string(axes.size()) +
              " samples: what is learnt depends on where a sample stands in its batch");
      finding.severity = Severity::kHint;
      finding.advice =
          "Unsqueeze it at the other axis, if places or features were meant; two axes of one size hide it.";
      return context.findings.push_back(std::move(finding));
    }
  }
}

}  // namespace msdbg::watch
