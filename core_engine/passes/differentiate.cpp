// Adds backward nodes and collects the parameters' gradients in the order in which backward makes them
// available. The gradient of a mutable input is done with its name, grad(network/x): each rank has its own.
//   loss = SoftmaxCrossEntropyLoss(Gemm(x, w, b), label)
//   ->  … SoftmaxCrossEntropyLossGrad, Gemm (dw), ReduceSum (db)
#include <algorithm>

#include "core_engine/autodiff/autodiff.h"
#include "core_engine/passes/pipeline.h"

namespace msdbg::core {

Status differentiatePass(Graph& graph, TrainingGraph& training) {
  training.lossScale = addLossScale(graph, training);
  const TensorInfo& loss = graph.tensor(training.loss);
  if (training.lossScale.valid() && loss.dtype != DType::Float32)
    return Error(ErrorCode::kUsage,
                 "loss " + loss.fullName() + " is " + std::string(dtypeName(loss.dtype)) +
                     ", but it is scaled, for what is computed in float16, and must be float32 for that; "
                     "cast it: cast(loss, DType::Float32)");
  MSDBG_ASSIGN(const auto gradients,
               addGradients(graph, training.loss, 1.0 / training.ranks, training.lossScale));
  for (const auto& [source, gradient] : gradients) {
    graph.tensor(gradient).gradientOf = source;
    if (graph.tensor(source).role == TensorRole::kParameter)
      training.gradients.push_back({source, gradient});
    else
      graph.setAlias(gradient, "grad(" + graph.tensor(source).name + ")");
  }
  std::stable_sort(training.gradients.begin(), training.gradients.end(), [&](const auto& a, const auto& b) {
    return graph.tensor(a.gradient).producer < graph.tensor(b.gradient).producer;
  });
  return Ok{};
}

}  // namespace msdbg::core
