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
      const core::TensorInfo* origin = parameterIn(graph, parameter);
      if (!origin || place.kind != BatchPlace::Kind::kNone) continue;
      if (samples.kind != BatchPlace::Kind::kAt ||
          !liesAlong(graph.tensor(parameter).shape, graph.tensor(other).shape, samples))
        continue;
      Finding finding = findingAtNode(
          context, node.id,
          origin->name + ", as " + graph.tensor(parameter).shape.text() + ", holds no data, and meets " +
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
