// The text form of a graph, for people, tests and `msdbg compile --diff`. Deterministic.
#pragma once

#include <string>

#include "core_engine/graph/graph.h"

namespace msdbg::core {

/// One line a node: `%12 = Conv(network/x:0, network/conv1/weight:0) {pads=[1,1,1,1]} -> float32[64,64,16,16]
/// # network/conv1/Conv-op1 @ alexnet.cpp:52`
std::string graphText(const Graph& graph);
std::string attributeText(const AttributeValue& value);
/// "Relu", "aten.relu".
std::string qualifiedType(const Node& node);
/// "div" of PyTorch's "div_.Tensor": without the overload, and whether it works in place.
std::string_view plainType(const Node& node);
/// `network/fc1/Gemm-op1 (mlp.cpp:12)`, for messages; the name alone where no line is known.
std::string nodeWithLine(const Graph& graph, const Node& node);

}  // namespace msdbg::core
