// Source-to-source reverse mode: backward nodes are ordinary nodes of the same graph, placed after the
// forward ones, in phase backward, named grad/<scope>/…, with the frames of their forward node and
// derivedFrom set.
#pragma once

#include <map>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// Gradients of the scalar `loss` with respect to every trainable source it depends on: parameters, and
/// inputs that were declared mutable. `seed` is
/// dloss/dloss (1/ranks in data-parallel training, so that a sum over ranks is the mean), times `scale` where
/// there is one: a scalar source. Tensors get role
/// kGradient, gradientOf and (parameters only) alias grad(<parameter>). Contributions to one tensor are
/// summed by Add in consumer order. kUsage: loss is not a scalar; an operator on the path has no gradient
/// rule (named with its line).
Result<std::map<TensorId, TensorId>> addGradients(Graph& graph, TensorId loss, double seed,
                                                  TensorId scale = {});

}  // namespace msdbg::core
