#include "core_engine/passes/input_shapes.h"

#include "core_engine/graph/graph_text.h"
#include "core_engine/ops/op.h"

namespace msdbg::core {
namespace {

Error refusal(const Graph& graph, const Node& node, const std::string& why) {
  return {ErrorCode::kUsage, nodeWithLine(graph, node) + " cannot take the new shapes: " + why};
}

Status inferAgain(Graph& graph, const Node& node) {
  const OpDef* op = findOp(node);
  if (!op || !op->infer) return refusal(graph, node, "nothing is known of operator " + node.opType);
  std::vector<TensorType> inputs;
  for (const TensorId id : node.inputs) inputs.push_back({graph.tensor(id).dtype, graph.tensor(id).shape});
  auto inferred = op->infer(inputs, node.attributes);
  if (!inferred.ok()) return refusal(graph, node, inferred.error().message());
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    graph.tensor(node.outputs[i]).shape = std::move((*inferred)[i].shape);
  return Ok{};
}

}  // namespace

Result<Graph> withInputShapes(const Graph& graph, std::span<const InputShape> shapes) {
  Graph other = graph;
  for (const auto& [id, shape] : shapes) other.tensor(id).shape = shape;
  for (const Node& node : other.nodes()) MSDBG_TRY(inferAgain(other, node));
  return other;
}

}  // namespace msdbg::core
