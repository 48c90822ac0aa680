// Gradient accumulation: every iteration trains on a micro batch, and updates read the mean of the gradients
// of `accumulate` of them, in the last one. grad(P) stays the micro batch's own.
//   g, accumulated(P), optimizer/micro_step  ->  AccumulateGradient  ->  next value of accumulated(P)
// The state and the counter are part of a checkpoint like any other, so training may break off between
// updates.
#include "core_engine/passes/update_nodes.h"

namespace msdbg::core {
namespace {

void accumulate(Graph& graph, const TrainingGraph& training, TrainingGraph::ParameterGradient& of) {
  const TensorInfo parameter = graph.tensor(of.parameter);
  const TensorId sum =
      addOptimizerSource(graph, "accumulated(" + parameter.name + ")", TensorRole::kOptimizerState,
                         parameter.dtype, parameter.shape, 0, parameter.frames);
  const NodeId node =
      addParameterNode(graph, "AccumulateGradient", of.parameter, {of.gradient, sum, training.microStep},
                       {{"steps", training.optimizer.accumulate}}, {nextValueOf(graph.tensor(sum))});
  of.gradient = graph.node(node).outputs.front();
  graph.setAlias(of.gradient, "accumulated_grad(" + parameter.name + ")");
}

}  // namespace

Status accumulateGradientsPass(Graph& graph, TrainingGraph& training) {
  if (training.optimizer.accumulate == 1) return Ok{};
  training.microStep = addOptimizerSource(graph, "optimizer/micro_step", TensorRole::kOptimizerState,
                                          DType::Int64, Shape{}, 0, lossFrames(graph, training));
  training.due = training.microStep;
  training.every = training.optimizer.accumulate;
  for (auto& of : training.gradients) accumulate(graph, training, of);
  return Ok{};
}

}  // namespace msdbg::core
