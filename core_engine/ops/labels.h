// Class labels: shape and range checks that SoftmaxCrossEntropyLoss, its gradient and their fast kernels
// share. Labels come from data, so a wrong one is an error that names the row, never undefined behaviour.
// Pure functions.
#pragma once

#include "core_engine/ops/infer.h"

namespace msdbg::core {

/// [N, ...] for logits [N, C, ...]; kUsage when there is no class dimension.
Result<Shape> labelShape(std::string_view op, const TensorType& logits);
/// kUsage naming the node and the first row whose label is not in [0, classes).
Status checkLabels(const Node& node, const Tensor& labels, std::int64_t classes);

}  // namespace msdbg::core
