// DeviceMemory: tensors whose bytes lie on a device, and how they come and go. What is asked for is done in
// the order of asking, after the kernels that were queued before. Used from the training thread.
#pragma once

#include "core_engine/base/result.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

/// Kernels and copies within the device, to be queued again as they were.
class DeviceSequence {
 public:
  virtual ~DeviceSequence() = default;
  virtual void run() = 0;
};

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// All zeros. Throws OutOfMemory: what was asked for and what is free.
  virtual Tensor zeros(DType dtype, const Shape& shape) = 0;
  /// Host memory that copies are fast from and to; OutOfMemory too.
  virtual Tensor pinned(DType dtype, const Shape& shape) = 0;
  /// Of one dtype and as many elements. The host's may be written to when this returns.
  virtual void upload(const Tensor& host, const Tensor& device) = 0;
  /// The bytes are there when this returns; kIo: the device failed, and with what.
  virtual Status download(const Tensor& device, Tensor& host) = 0;
  virtual void copy(const Tensor& from, const Tensor& to) = 0;  // from device to device
  /// All that was asked for is done; kIo: the device failed, and with what.
  virtual Status wait() = 0;
  /// From here on nothing is done but kept, up to the end, which gives it. Meanwhile nothing goes to or from
  /// the host. nullptr: the device cannot; what was kept is lost.
  virtual void beginSequence() = 0;
  virtual std::unique_ptr<DeviceSequence> endSequence() = 0;
  /// Notes that what observeTensor() would give is to be taken where the value lies; its number in
  /// observed(). nullopt where that is not possible (another dtype). Only `previous` (of the device) and
  /// `range` of the wish are looked at.
  virtual std::optional<std::size_t> observe(const Tensor& value, const ObservationWish& wish) = 0;
  /// Queues the taking of all that was noted: afterwards their bytes may change.
  virtual void startObserving() = 0;
  /// What was noted since the last call; waits for it. kIo: the device failed.
  virtual Result<std::vector<TensorObservation>> observed() = 0;
};

/// The same value in memory of the host.
Result<Tensor> onHost(const Tensor& tensor, DeviceMemory& memory);

}  // namespace msdbg::core
