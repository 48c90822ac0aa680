// DeviceStatistics: statistics and hashes of float32 tensors, taken where they lie (kernels/statistics.h):
// the numbers of observeTensor(). Tensors are noted, and taken many at once by a few kernels; what comes to
// the host, for all of them at once, is one record of each and the hashes of its blocks. Used from the
// training thread.
#pragma once

#include <optional>
#include <vector>

#include "core_engine/base/result.h"
#include "core_engine/device/kernels/parameters.h"
#include "core_engine/tensor/observation_parts.h"

namespace msdbg::core::device {

class DeviceContext;

class DeviceStatistics {
 public:
  explicit DeviceStatistics(DeviceContext& context) : m_context(context) {}

  /// Whether the value, and what it is compared with, are of this device and of float32.
  static bool takes(const Tensor& value, const ObservationWish& wish);
  /// Its number among those that were noted since the last collect(). The values stay, and stay as they are,
  /// until launch().
  std::size_t note(const Tensor& value, const ObservationWish& wish);
  /// Queues what takes all that was noted; what is queued afterwards may change the values.
  void launch();
  /// Of all that was noted since the last call, launched or not; waits for it.
  Result<std::vector<TensorObservation>> collect();

 private:
  struct Batch;
  struct Noted {
    std::optional<TensorObservation> known;  // of a tensor without elements
    std::int64_t elements = 0, blocks = 0;
    TensorUnits units;
    bool hasChange = false, hasRange = false;
    std::size_t answer = 0;  // where it will lie, in bytes
  };
  struct Waiting {
    StatisticsTensor tensor;  // but for where it lies among others
    std::size_t answer;
  };

  void provide(Tensor& memory, std::size_t bytes);
  void provideAnswers();
  void upload(const Batch& batch);
  void launchBlocks(const Batch& batch);
  void launchTotals();
  Status download();
  TensorObservation observationOf(Noted& noted) const;

  DeviceContext& m_context;
  std::vector<Noted> m_noted;
  std::vector<Waiting> m_waiting;                // for launch()
  Tensor m_input, m_work;                        // of one batch after another
  Tensor m_answers;                              // of all that was noted
  std::size_t m_allAnswers = 0, m_launched = 0;  // bytes; of which belong to what was launched
  Tensor m_host;                                 // pinned
};

}  // namespace msdbg::core::device
