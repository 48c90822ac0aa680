// Which sample of a data set is which row of which batch: a slice of the set, epoch by epoch, in a new order
// every time where it is shuffled. Immutable but for a cache; any thread may ask.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core_engine/base/ids.h"

namespace msdbg::core {

/// A permutation of 0 … count-1 that depends on seed and epoch alone (Fisher-Yates over a Philox stream).
std::vector<std::int64_t> shuffledOrder(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

class SampleOrder {
 public:
  struct Settings {
    std::int64_t first = 0, samples = 1;  // the slice
    std::int64_t batch = 1;               // rows of a rank
    std::uint64_t seed = 0;
    bool shuffle = true;
  };
  explicit SampleOrder(const Settings& settings) : m_settings(settings) {}

  const Settings& settings() const { return m_settings; }
  std::int64_t iterationsPerEpoch(int ranks) const;
  /// Row `row` of the global batch of an iteration.
  std::int64_t sampleOf(std::int64_t iteration, std::int64_t row, int ranks) const;

 private:
  using Order = std::shared_ptr<const std::vector<std::int64_t>>;
  Order epochOrder(std::int64_t epoch) const;

  Settings m_settings;
  mutable std::mutex m_mutex;  // guards the last epoch's order, a cache
  mutable Order m_order;
  mutable std::int64_t m_orderEpoch = -1;
};

}  // namespace msdbg::core
