// HostView: what the host sees of an executor's tensors, wherever they lie: what it gave itself, copies that
// it asked for, and copies for the length of a call. Where they lie on the host it sees the tensors
// themselves. Used from the executor's thread.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core_engine/runtime/device_memory.h"
#include "core_engine/runtime/observer.h"

namespace msdbg::core {

class HostView {
 public:
  explicit HostView(DeviceMemory* device = nullptr, std::size_t tensors = 0)
      : m_device(device), m_copies(tensors) {}

  bool isDevice() const { return m_device != nullptr; }

  /// The host gives tensor `id` its value: shared where it lies on the host, else copied to where it lies.
  void give(TensorId id, const Tensor& value, Tensor& tensor);
  /// The value of `id`, until it is asked for again; empty where the device failed, which the next wait()
  /// says.
  const Tensor& keep(TensorId id, const Tensor& tensor);
  /// What was given last.
  const Tensor& given(TensorId id, const Tensor& tensor) const {
    return m_device && m_copies[id.index()].valid() ? m_copies[id.index()] : tensor;
  }

  /// A copy until the next of this slot.
  enum class Slot { kValue, kPrevious };
  Result<Tensor> lend(Slot slot, const Tensor& tensor);

  /// f(inputs, outputs) with what the host can read and write, which the tensors then have.
  template <typename F>
  Status onHost(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs, const F& f) {
    if (!m_device) return f(inputs, outputs);
    MSDBG_TRY(fetch(inputs, outputs));
    MSDBG_TRY(f(m_inputs, m_outputs));
    bring(outputs);
    m_fetched.clear();
    return Ok{};
  }

 private:
  Status fetch(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs);
  void bring(std::span<Tensor* const> outputs);

  DeviceMemory* m_device;
  std::vector<Tensor> m_copies;  // by TensorId
  std::array<Tensor, 2> m_lent;  // pinned bytes
  std::vector<Tensor> m_fetched;
  std::vector<const Tensor*> m_inputs;
  std::vector<Tensor*> m_outputs;
};

}  // namespace msdbg::core
