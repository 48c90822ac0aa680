#include "core_engine/runtime/host_view.h"

#include <algorithm>

namespace msdbg::core {

void HostView::give(TensorId id, const Tensor& value, Tensor& tensor) {
  if (!m_device) {
    tensor = value;
    return;
  }
  m_copies[id.index()] = value;
  m_device->upload(value, tensor);
}

const Tensor& HostView::keep(TensorId id, const Tensor& tensor) {
  if (!m_device || tensor.place() != Place::kDevice) return tensor;
  Tensor& copy = m_copies[id.index()];
  copy = Tensor(tensor.dtype(), tensor.shape());  // the one before may be the program's
  if (!m_device->download(tensor, copy).ok()) copy = {};
  return copy;
}

Result<Tensor> HostView::lend(Slot slot, const Tensor& tensor) {
  if (!m_device || tensor.place() != Place::kDevice) return tensor;
  Tensor& bytes = m_lent[static_cast<std::size_t>(slot)];
  if (!bytes.valid() || bytes.bytes() < tensor.bytes())
    bytes = m_device->pinned(DType::UInt8, {static_cast<std::int64_t>(tensor.bytes())});
  Tensor copy = bytes.viewAt(0, tensor.dtype(), tensor.shape());
  MSDBG_TRY(m_device->download(tensor, copy));
  return copy;
}

Status HostView::fetch(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) {
  m_fetched.clear();
  m_fetched.reserve(inputs.size() + outputs.size());
  m_inputs.clear();
  m_outputs.clear();
  const auto add = [&](const Tensor& tensor) -> Status {
    if (!tensor.valid()) return m_fetched.emplace_back(), Ok{};
    MSDBG_TRY(m_device->download(tensor, m_fetched.emplace_back(tensor.dtype(), tensor.shape())));
    return Ok{};
  };
  for (const Tensor* input : inputs) {
    MSDBG_TRY(add(*input));
    m_inputs.push_back(&m_fetched.back());
  }
  for (Tensor* output : outputs) {
    MSDBG_TRY(add(*output));
    m_outputs.push_back(&m_fetched.back());
  }
  return Ok{};
}

void HostView::bring(std::span<Tensor* const> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]->valid()) m_device->upload(*m_outputs[i], *outputs[i]);
}

}  // namespace msdbg::core
