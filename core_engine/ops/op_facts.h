// What follows from the operators' rows: where a definition comes from, which dtypes it takes, which
// operators its gradient is made of. Pure functions; the views live as long as the rows.
#pragma once

#include <string_view>
#include <vector>

#include "core_engine/ops/op.h"

namespace msdbg::core {

/// "ai.onnx" and the version of the definition that the doc names ("ONNX Conv-11"); else "msdbg" and 0.
struct OpOrigin {
  std::string_view domain;
  int since = 0;
};
OpOrigin originOf(const OpDef& op);

/// Names of the dtypes that the data may have, in the order of kComputedDTypes.
std::vector<std::string_view> dataTypeNames(const OpDef& op);

/// Whether the engine computes in the dtypes of all that the node reads and makes; it need not be a node of
/// ours.
bool hasComputedDTypes(const Graph& graph, const Node& node);

/// The operators that only this one's gradient needs: <name>Grad, <name>GradInput, …; none where its rule
/// gets by with others.
std::vector<std::string_view> gradientOpsOf(const OpDef& op);

}  // namespace msdbg::core
