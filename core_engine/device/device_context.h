// DeviceContext: what the kernels of one device backend share: the device, its memory as tensors, memory for
// work, and alarms. Used from the training thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core_engine/device/device.h"
#include "core_engine/device/statistics.h"
#include "core_engine/graph/graph.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/device_memory.h"

namespace msdbg::core::device {

class DeviceContext : public DeviceMemory, public std::enable_shared_from_this<DeviceContext> {
 public:
  explicit DeviceContext(std::shared_ptr<Device> device);
  ~DeviceContext() override;

  Device& device() { return *m_device; }

  Tensor zeros(DType dtype, const Shape& shape) override;
  Tensor pinned(DType dtype, const Shape& shape) override;
  void upload(const Tensor& host, const Tensor& device) override;
  Status download(const Tensor& device, Tensor& host) override;
  void copy(const Tensor& from, const Tensor& to) override;
  Status wait() override;
  void beginSequence() override { m_device->beginSequence(); }
  std::unique_ptr<DeviceSequence> endSequence() override;
  void startObserving() override { m_statistics.launch(); }
  std::optional<std::size_t> observe(const Tensor& value, const ObservationWish& wish) override;
  Result<std::vector<TensorObservation>> observed() override;

  /// Memory that all kernels share, one after another, each from its beginning on: as many bytes as somebody
  /// reserved. Asked for when a kernel runs.
  void reserve(std::size_t bytes);
  template <typename T>
  T* work(std::size_t byte = 0) {
    return reinterpret_cast<T*>(workAt(byte));
  }

  /// `work`: elements or threads that there is something to do for; one a thread until the device is full.
  template <typename Parameters>
  void launch(const char* kernel, std::int64_t work, const Parameters& parameters) {
    launchBytes(kernel, work, &parameters, sizeof parameters);
  }

  /// Where kernels read the iteration: the same place in all of them.
  const std::int64_t* iteration();
  void startIteration(std::int64_t iteration);

  /// A place where a kernel of the node says that its data is wrong, as a number that is not 0; `explain`
  /// then finds the error on the host, when the iteration is done.
  using Explain = std::function<Status()>;
  std::int64_t* addAlarm(NodeId node, Explain explain);
  /// The first alarm that was raised, and lowers all; or what went wrong with the device.
  std::optional<Backend::Finding> alarms();

 private:
  struct Alarm {
    NodeId node;
    Explain explain;
  };
  static Backend::Finding findingOf(const Alarm& raised);
  std::byte* workAt(std::size_t byte);
  void launchBytes(const char* kernel, std::int64_t work, const void* parameters, std::size_t bytes);

  std::shared_ptr<Device> m_device;
  Tensor m_work;
  std::size_t m_reserved = 0;
  std::vector<Tensor> m_alarms;  // of kAlarmsAtOnce each
  Tensor m_iteration;
  std::vector<Alarm> m_raisable;
  DeviceStatistics m_statistics{*this};
};

}  // namespace msdbg::core::device
