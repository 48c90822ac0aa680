// The graph of a model for evaluation: the forward nodes that the loss needs, BatchNormalization by its
// running values, no Dropout.
//   x -> BatchNormalization (training_mode 1) -> Dropout -> Gemm  ->  x -> BatchNormalization -> Gemm
// Sources keep their names, so that values can be shared with the training graph; nodes keep their lines and
// are counted anew. A pure function.
#pragma once

#include "core_engine/graph/graph.h"

namespace msdbg::core {

struct InferenceGraph {
  Graph graph;
  TensorId loss;
};

/// Of a model as it was built, before it is compiled for training. kUnsupported: the loss needs what is
/// there in training only: the running values that a BatchNormalization writes, the mask of a Dropout (the
/// node is named, with its line).
Result<InferenceGraph> inferenceGraph(const Graph& graph, TensorId loss);

}  // namespace msdbg::core
