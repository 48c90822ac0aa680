// Indices into an axis, as Gather and its gradient read them: Int32 or Int64, negative counts from the end.
// They come from data, so a wrong one is an error that names its place, never undefined behaviour.
#pragma once

#include "core_engine/ops/infer.h"

namespace msdbg::core {

Status checkIndexType(std::string_view op, const TensorType& indices);
/// All indices in [0, size); kUsage naming the node and the first one outside [-size, size).
Result<std::vector<std::int64_t>> readIndices(const Node& node, const Tensor& indices, std::int64_t size);

}  // namespace msdbg::core
