#include "core_engine/ops/indices.h"

#include "core_engine/tensor/index_text.h"

namespace msdbg::core {

Status checkIndexType(std::string_view op, const TensorType& indices) {
  if (indices.dtype == DType::Int32 || indices.dtype == DType::Int64) return Ok{};
  return inferError(op, describeInput("indices", indices) + ", but int32 or int64 was expected");
}

Result<std::vector<std::int64_t>> readIndices(const Node& node, const Tensor& indices, std::int64_t size) {
  std::vector<std::int64_t> read(static_cast<std::size_t>(indices.elements()));
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::int64_t index =
        indices.dtype() == DType::Int64 ? indices.data<std::int64_t>()[i] : indices.data<std::int32_t>()[i];
    if (index < -size || index >= size)
      return Error(ErrorCode::kUsage, node.name + ": index " + std::to_string(index) + " (at [" +
                                          indexText(indices.shape(), static_cast<std::int64_t>(i)) +
                                          "] of the indices) is outside [" + std::to_string(-size) + ", " +
                                          std::to_string(size - 1) + "]; check the data");
    read[i] = index < 0 ? index + size : index;
  }
  return read;
}

}  // namespace msdbg::core
