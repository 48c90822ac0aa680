#include "core_engine/train/mutable_input.h"

namespace msdbg::core {

Value mutableInput(Graph& graph, std::string name, Shape shape, std::optional<DType> dtype, Where where) {
  const Value input = graph.input(std::move(name), std::move(shape), dtype, where);
  graph.tensor(input.id()).trainable = true;
  return input;
}

bool isMutableInput(const TensorInfo& tensor) {
  return tensor.trainable && (tensor.role == TensorRole::kInput || tensor.role == TensorRole::kLabel);
}

}  // namespace msdbg::core
