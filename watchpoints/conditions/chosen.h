// The parameters that name tensors: which ones a watchpoint looks at. Pure functions; thread-safe.
#pragma once

#include <vector>

#include "core_engine/graph/graph.h"
#include "watchpoints/parameters.h"

namespace msdbg::watch {

/// `tensors=NAME|GLOB…`, of every condition that looks at tensors one by one.
ParameterSpec tensorsParameter();
/// Of these tensors those that are named, or are the gradient or the next value of what is named; all of them
/// where none is.
std::vector<core::TensorId> chosenTensors(const core::Graph& graph, const Parameters& parameters,
                                          std::vector<core::TensorId> tensors);

/// `tensor=NAME`, of conditions that follow one number: what is followed instead of the loss.
ParameterSpec followedParameter();
/// The tensor that is named; otherwise the loss, invalid where the graph has none.
core::TensorId followedTensor(const core::Graph& graph, const Parameters& parameters);

}  // namespace msdbg::watch
