// The graph of a model for evaluation: the forward nodes that the loss, or what else is wanted, needs;
// BatchNormalization by its running values, no Dropout.
//   x -> BatchNormalization (training_mode 1) -> Dropout -> Gemm  ->  x -> BatchNormalization -> Gemm
// Sources keep their names, so that values can be shared with the training graph; nodes keep their lines and
// are counted anew. A pure function.
#pragma once

#include <span>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

struct InferenceGraph {
  Graph graph;
  std::vector<TensorId> wanted;  // in the order they were asked for
};

/// Of a model as it was built, before it is compiled for training. kUnsupported: what is wanted needs what is
/// there in training only: the running values that a BatchNormalization writes, the mask of a Dropout (the
/// node is named, with its line).
Result<InferenceGraph> inferenceGraph(const Graph& graph, std::span<const TensorId> wanted);
inline Result<InferenceGraph> inferenceGraph(const Graph& graph, TensorId loss) {
  return inferenceGraph(graph, std::span(&loss, 1));
}

}  // namespace msdbg::core
