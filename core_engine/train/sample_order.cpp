#include <algorithm>
#include <numeric>

#include "core_engine/base/philox.h"
#include "core_engine/train/sample_order_internal.h"

namespace msdbg::core {

std::vector<std::int64_t> shuffledOrder(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  const RandomStream stream(seed, "data/order", epoch);
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    const std::size_t j = static_cast<std::size_t>(std::uint64_t{stream.bits(i)} * i >> 32);
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

std::int64_t SampleOrder::iterationsPerEpoch(int ranks) const {
  return std::max<std::int64_t>(1, m_settings.samples / (m_settings.batch * ranks));
}

std::int64_t SampleOrder::sampleOf(std::int64_t iteration, std::int64_t row, int ranks) const {
  const std::int64_t globalRows = m_settings.batch * ranks, samples = m_settings.samples;
  if (!m_settings.shuffle) return m_settings.first + (iteration * globalRows + row) % samples;
  const std::int64_t perEpoch = iterationsPerEpoch(ranks);
  const std::int64_t place = iteration % perEpoch * globalRows + row;
  const Order order = epochOrder(iteration / perEpoch);
  return m_settings.first + (*order)[static_cast<std::size_t>(place % samples)];
}

SampleOrder::Order SampleOrder::epochOrder(std::int64_t epoch) const {
  const std::lock_guard lock(m_mutex);
  if (!m_order || m_orderEpoch != epoch) {
    m_order = std::make_shared<std::vector<std::int64_t>>(
        shuffledOrder(m_settings.samples, m_settings.seed, epoch));
    m_orderEpoch = epoch;
  }
  return m_order;
}

}  // namespace msdbg::core
