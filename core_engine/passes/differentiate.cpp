// Adds backward nodes and collects the parameters' gradients in the order in which backward makes them
// available.
//   loss = SoftmaxCrossEntropyLoss(Gemm(x, w, b), label)
//   ->  … SoftmaxCrossEntropyLossGrad, Gemm (dw), ReduceSum (db)
#include <algorithm>

#include "core_engine/autodiff/autodiff.h"
#include "core_engine/passes/pipeline.h"

namespace msdbg::core {

Status differentiatePass(Graph& graph, TrainingGraph& training) {
  MSDBG_ASSIGN(const auto gradients, addGradients(graph, training.loss, 1.0 / training.ranks));
  for (const auto& [parameter, gradient] : gradients) {
    training.gradients.push_back({parameter, gradient});
    graph.tensor(gradient).gradientOf = parameter;
  }
  std::stable_sort(training.gradients.begin(), training.gradients.end(), [&](const auto& a, const auto& b) {
    return graph.tensor(a.gradient).producer < graph.tensor(b.gradient).producer;
  });
  return Ok{};
}

}  // namespace msdbg::core
