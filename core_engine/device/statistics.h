// DeviceStatistics: statistics and hashes of float32 tensors, taken where they lie (kernels/statistics.h): the numbers of
// observeTensor(). What comes to the host is one record and the hashes of the blocks. Used from the training thread.
#pragma once

#include "core_engine/device/kernels/parameters.h"
#include "core_engine/tensor/observation_parts.h"

namespace msdbg::core::device {

class DeviceContext;

class DeviceStatistics {
 public:
  /// `blocksAtOnce`: of 64 KiB, at most kMostStatisticsBlocks; the records of one part are added up while the next is
  /// read.
  explicit DeviceStatistics(DeviceContext& context, std::int64_t blocksAtOnce = kMostStatisticsBlocks)
      : m_context(context), m_blocksAtOnce(blocksAtOnce) {}

  /// Whether the value, and what it is compared with, are of this device and of float32.
  static bool takes(const Tensor& value, const ObservationWish& wish);
  Result<TensorObservation> observe(const Tensor& value, const ObservationWish& wish);

 private:
  struct Layout;

  void prepare(const Layout& layout);
  void launchParts(const Tensor& value, const ObservationWish& wish, const Layout& layout);
  void launchUnits(const TensorUnits& units, const Layout& layout, std::int64_t first, std::int64_t count);
  void countDead(const TensorUnits& units, const Layout& layout);
  template <typename T>
  T* at(std::size_t byte) const {
    return reinterpret_cast<T*>(m_memory.address() + byte);
  }

  DeviceContext& m_context;
  std::int64_t m_blocksAtOnce;
  Tensor m_memory, m_host;  // of the device, and pinned
};

}  // namespace msdbg::core::device
