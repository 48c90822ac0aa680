// Inputs declared mutable: training goes on when their shape changes (the graph is rebuilt for it and gets a
// new version), and floating ones are differentiated: grad(network/x) is a tensor of the graph. Values of any
// input may change from step to step. After a step Trainer::gradient() gives it.
#pragma once

#include <optional>
#include <string>

#include "core_engine/ops/functions.h"

namespace msdbg::core {

/// As Graph::input(). Throws BuildError.
Value mutableInput(Graph& graph, std::string name, Shape shape, std::optional<DType> dtype = {},
                   Where where = Where::current());

/// Of inputs, `trainable` says it: of floating ones there is a gradient.
bool isMutableInput(const TensorInfo& tensor);

}  // namespace msdbg::core
