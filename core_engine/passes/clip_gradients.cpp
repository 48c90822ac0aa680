// Clips what the updates read, after the gradients of all ranks were summed; grad(P) stays the gradient
// itself, clipped_grad(P) is what is left of it. By value first, then all together by their l2 norm, as
// PyTorch's clip_grad_value_ and clip_grad_norm_ do:
//   grad_norm = Sqrt(ReduceSumSquare(g1) + ReduceSumSquare(g2) + …)
//   g  ->  Mul(g, Min(max_norm / (grad_norm + 1e-6), 1))
#include "core_engine/passes/update_nodes.h"

namespace msdbg::core {
namespace {

/// Replaces a gradient by the node's output.
void replace(Graph& graph, TrainingGraph::ParameterGradient& of, std::string_view opType,
             std::vector<TensorId> more, Attributes attributes) {
  const TensorInfo before = graph.tensor(of.gradient);
  std::vector<TensorId> inputs{of.gradient};
  inputs.insert(inputs.end(), more.begin(), more.end());
  const NodeId node = addParameterNode(graph, opType, of.parameter, std::move(inputs), std::move(attributes),
                                       {gradientInfo(before.dtype, before.shape, of.parameter)});
  of.gradient = graph.node(node).outputs.front();
}

/// A scalar computed from others in scope update/clip.
TensorId scalar(Graph& graph, const TrainingGraph& training, std::string_view opType,
                std::vector<TensorId> inputs) {
  const NodeId node = addGlobalNode(graph, opType, training, "clip", std::move(inputs), {},
                                    {gradientInfo(graph.floatingDType(), Shape{})});
  return graph.node(node).outputs.front();
}

TensorId number(Graph& graph, const TrainingGraph& training, const std::string& name, double value) {
  return addOptimizerSource(graph, "optimizer/" + name, TensorRole::kConstant, graph.floatingDType(), Shape{},
                            value, lossFrames(graph, training));
}

/// Refuses gradients of another dtype than the graph's: their norm could not be one number.
Status checkDTypes(const Graph& graph, const TrainingGraph& training) {
  for (const auto& [parameter, gradient] : training.gradients)
    if (graph.tensor(gradient).dtype != graph.floatingDType())
      return Error(ErrorCode::kUnsupported, "clipNorm needs all parameters in " +
                                                std::string(dtypeName(graph.floatingDType())) + ", but " +
                                                graph.tensor(parameter).name + " is " +
                                                std::string(dtypeName(graph.tensor(parameter).dtype)));
  return Ok{};
}

TensorId addNorm(Graph& graph, const TrainingGraph& training) {
  TensorId sum;
  for (const auto& of : training.gradients) {
    const NodeId node =
        addParameterNode(graph, "ReduceSumSquare", of.parameter, {of.gradient},
                         {{"keepdims", std::int64_t{0}}}, {gradientInfo(graph.floatingDType(), Shape{})});
    const TensorId squares = graph.node(node).outputs.front();
    sum = sum.valid() ? scalar(graph, training, "Add", {sum, squares}) : squares;
  }
  const TensorId norm = scalar(graph, training, "Sqrt", {sum});
  graph.setAlias(norm, "grad_norm");
  return norm;
}

void clipByNorm(Graph& graph, TrainingGraph& training) {
  const TensorId guarded = scalar(graph, training, "Add",
                                  {addNorm(graph, training), number(graph, training, "clip_epsilon", 1e-6)});
  const TensorId ratio = scalar(graph, training, "Div",
                                {number(graph, training, "clip_norm", training.optimizer.clipNorm), guarded});
  const TensorId factor = scalar(graph, training, "Min", {ratio, number(graph, training, "clip_most", 1)});
  for (auto& of : training.gradients) replace(graph, of, "Mul", {factor}, {});
}

}  // namespace

Status clipGradientsPass(Graph& graph, TrainingGraph& training) {
  const double value = training.optimizer.clipValue, norm = training.optimizer.clipNorm;
  if (value == 0 && norm == 0) return Ok{};
  if (norm > 0) MSDBG_TRY(checkDTypes(graph, training));
  if (value > 0)
    for (auto& of : training.gradients) replace(graph, of, "Clip", {}, {{"min", -value}, {"max", value}});
  if (norm > 0) clipByNorm(graph, training);
  for (const auto& [parameter, gradient] : training.gradients)
    graph.setAlias(gradient, "clipped_grad(" + graph.tensor(parameter).name + ")");
  return Ok{};
}

}  // namespace msdbg::core
