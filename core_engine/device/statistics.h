// DeviceStatistics: statistics and hashes of float32 tensors, taken where they lie (kernels/statistics.h):
// the numbers of observeTensor(). They are queued with the kernels; what comes to the host, for all tensors
// at once, is one record of each and the hashes of its blocks. Used from the training thread.
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
  /// `blocksAtOnce`: of 64 KiB, at most kMostStatisticsBlocks; the records of one part are added up while the
  /// next is read.
  explicit DeviceStatistics(DeviceContext& context, std::int64_t blocksAtOnce = kMostStatisticsBlocks)
      : m_context(context), m_blocksAtOnce(blocksAtOnce) {}

  /// Whether the value, and what it is compared with, are of this device and of float32.
  static bool takes(const Tensor& value, const ObservationWish& wish);
  /// Its number among those that are queued. The values may change afterwards, by what is queued then.
  std::size_t queue(const Tensor& value, const ObservationWish& wish);
  /// Of all that was queued since the last call; waits for it.
  Result<std::vector<TensorObservation>> collect();

 private:
  struct Layout;
  struct Queued {
    std::optional<TensorObservation> known;  // of a tensor without elements
    std::int64_t elements = 0, blocks = 0;
    TensorUnits units;
    bool hasChange = false, hasRange = false;
    std::size_t answer = 0;  // where it will lie on the host, in bytes
  };
  /// Part of the answers, as more were queued than there was place for.
  struct Answers {
    Tensor memory;
    std::size_t used = 0;
  };

  void provide(Tensor& memory, std::size_t bytes);
  std::byte* placeForAnswer(std::size_t bytes);
  void launchParts(const Tensor& value, const ObservationWish& wish, const Layout& layout, std::byte* answer);
  void countUnits(const Layout& layout, std::int64_t first, std::int64_t count);
  void countDead(const Layout& layout, std::byte* answer);
  Status download();
  TensorObservation observationOf(Queued& queued) const;

  DeviceContext& m_context;
  std::int64_t m_blocksAtOnce;
  Tensor m_work;  // of one tensor after another
  std::vector<Answers> m_answers;
  std::size_t m_allAnswers = 0;  // bytes
  Tensor m_host;                 // pinned
  std::vector<Queued> m_queued;
};

}  // namespace msdbg::core::device
