// Data parallelism: sums every parameter's gradient over the ranks. The loss was seeded with 1/ranks, so the
// sum is the gradient of the mean over the global batch. grad(P) means the reduced gradient; the local one is
// local_grad(P).
//   dw  ->  Allreduce(dw)
#include "core_engine/passes/pipeline.h"

namespace msdbg::core {
namespace {

TensorId addAllreduce(Graph& graph, TensorId gradient, TensorId parameter) {
  const TensorInfo local = graph.tensor(gradient);
  const Node maker = graph.node(local.producer);
  TensorInfo reduced;
  reduced.dtype = local.dtype;
  reduced.shape = local.shape;
  reduced.role = TensorRole::kGradient;
  reduced.gradientOf = parameter;
  reduced.replicated = true;
  const NodeId id = graph.addNode("Allreduce", maker.scope, Phase::kCollective, {gradient}, {},
                                  {std::move(reduced)}, maker.frames, maker.derivedFrom);
  return graph.node(id).outputs.front();
}

}  // namespace

Status allreduceGradientsPass(Graph& graph, TrainingGraph& training) {
  for (auto& [parameter, gradient] : training.gradients) {
    const std::string name = graph.tensor(parameter).name;
    if (training.ranks > 1) {
      graph.setAlias(gradient, "local_grad(" + name + ")");
      gradient = addAllreduce(graph, gradient, parameter);
    } else {
      graph.tensor(gradient).replicated = true;
    }
    graph.setAlias(gradient, "grad(" + name + ")");
  }
  return Ok{};
}

}  // namespace msdbg::core
