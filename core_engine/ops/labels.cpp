#include "core_engine/ops/labels.h"

#include "core_engine/tensor/index_text.h"

namespace msdbg::core {

Result<Shape> labelShape(std::string_view op, const TensorType& logits) {
  const Shape& shape = logits.shape;
  if (shape.rank() < 2 || shape.elements() == 0)
    return inferError(
        op, describeInput("logits", logits) + ", but [rows, classes] (or more dimensions) was expected");
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.erase(dims.begin() + 1);
  return Shape(std::move(dims));
}

Status checkLabels(const Node& node, const Tensor& labels, std::int64_t classes) {
  const auto values = labels.data<std::int64_t>();
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (values[row] >= 0 && values[row] < classes) continue;
    const std::string place = labels.shape().rank() > 1
                                  ? "at [" + indexText(labels.shape(), static_cast<std::int64_t>(row)) + "]"
                                  : "of row " + std::to_string(row);
    return Error(ErrorCode::kUsage, node.name + ": the label " + place + " is " +
                                        std::to_string(values[row]) + ", but there are " +
                                        std::to_string(classes) + " classes (0 to " +
                                        std::to_string(classes - 1) + "); check the data");
  }
  return Ok{};
}

}  // namespace msdbg::core
