#include "dump/python/record/seen_value.h"

namespace msdbg::dump {

namespace {

bool fits(const core::Shape& here, const core::Shape& graph) {
  if (here.rank() != graph.rank()) return false;
  for (std::size_t i = 0; i < here.rank(); ++i)
    if (graph[i] != -1 && graph[i] != here[i]) return false;
  return true;
}

core::Tensor inShape(const core::Tensor& value, core::Shape shape) {
  if (value.valid()) return value.reshaped(std::move(shape));
  return core::Tensor::in(nullptr, core::Place::kDevice, value.dtype(), std::move(shape));
}

}  // namespace

core::Tensor borrowed(const SeenValue& value) {
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(value.data));
  return core::Tensor::in(std::shared_ptr<std::byte[]>(std::shared_ptr<void>(), bytes), core::Place::kHost,
                          value.dtype, core::Shape(std::vector(value.dims.begin(), value.dims.end())));
}

core::Tensor withoutBytes(const core::Tensor& like) {
  return core::Tensor::in(nullptr, core::Place::kDevice, like.dtype(), like.shape());
}

core::Tensor inShapeOf(const core::Tensor& value, const core::Shape& graph) {
  if (fits(value.shape(), graph)) return value;
  if (graph.known() && graph.elements() == value.elements()) return inShape(value, graph);
  return graph.rank() == 1 ? inShape(value, core::Shape({value.elements()})) : value;
}

}  // namespace msdbg::dump
