// What the passes of the update phase share: where their nodes are put, and whose lines they carry. Used
// while a graph is built; pure otherwise.
#pragma once

#include <string>

#include "core_engine/passes/pipeline.h"

namespace msdbg::core {

/// Adds an update node for a parameter: in scope `update/<its scope>`, with the lines of its first user.
NodeId addParameterNode(Graph& graph, std::string_view opType, TensorId parameter,
                        std::vector<TensorId> inputs, Attributes attributes, std::vector<TensorInfo> outputs);
/// Adds an update node that serves all parameters: in scope `update/<scope>`, with the lines of the loss.
NodeId addGlobalNode(Graph& graph, std::string_view opType, const TrainingGraph& training,
                     std::string_view scope, std::vector<TensorId> inputs, Attributes attributes,
                     std::vector<TensorInfo> outputs);
/// A state, a hyperparameter or a constant of the optimizer, equal on all ranks.
TensorId addOptimizerSource(Graph& graph, std::string name, TensorRole role, DType dtype, Shape shape,
                            double value, std::vector<FrameId> frames);
/// The lines of what serves all parameters.
std::vector<FrameId> lossFrames(const Graph& graph, const TrainingGraph& training);
/// What is computed on the way to the updates, equal on all ranks; of a parameter's gradient: which
/// parameter.
TensorInfo gradientInfo(DType dtype, Shape shape = {}, TensorId parameter = {});
/// The next value of a parameter or state.
TensorInfo nextValueOf(const TensorInfo& source);

}  // namespace msdbg::core
