// Which tensors a condition looks at (shared/specs/watchpoints.md "Targets"). Pure functions of the graph;
// thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "core_engine/graph/graph.h"

namespace msdbg::watch {

bool isWeight(const core::TensorInfo& info);                                  // a trainable parameter itself
bool isWeightUpdate(const core::Graph& graph, const core::TensorInfo& info);  // the next value of one
bool isGradient(const core::TensorInfo& info);  // of a parameter or an activation
bool isParameterGradient(const core::Graph& graph, const core::TensorInfo& info);
/// The mean of the gradients of several iterations; grad(P) stays the one of each.
bool isAccumulatedGradient(const core::Graph& graph, const core::TensorInfo& info);
/// OpDef::activation of a node of a source's graph, which is in our terms.
bool isActivationFunction(const core::Node& node);
bool isActivation(const core::Graph& graph,
                  const core::TensorInfo& info);  // of a forward activation function
bool isReplicated(const core::Graph& graph,
                  const core::TensorInfo& info);  // equal on all ranks, says the plan
bool isZeroInitialised(const core::TensorInfo& info);
/// The same, or nobody says how it begins (other frameworks do not).
bool mayStartAtZero(const core::TensorInfo& info);
bool isCollective(const core::Node& node);

/// Tensors of floating-point or complex numbers, or of a dtype that only a newer msdbg knows, for which
/// `wanted` holds, in execution order, sources first.
std::vector<core::TensorId> selectTensors(const core::Graph& graph,
                                          const std::function<bool(const core::TensorInfo&)>& wanted);

/// For each parameter and state the tensor that is its next value; invalid where nothing updates it.
std::vector<core::TensorId> updatesByParameter(const core::Graph& graph);

/// The weight of a bias's layer. A bias has one dimension; its node reads a weight (Conv, Gemm) or a scale
/// (normalisations) before it, or else its scope has a parameter of more dimensions. Invalid if it is no
/// bias.
core::TensorId layerWeight(const core::Graph& graph, core::TensorId parameter);

/// The type of the operator that makes the tensor; "" for sources.
std::string_view opTypeOf(const core::Graph& graph, core::TensorId tensor);

}  // namespace msdbg::watch
