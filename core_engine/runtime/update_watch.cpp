#include "core_engine/runtime/update_watch.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core_engine/tensor/tensor.h"

namespace msdbg::core {
namespace {

/// Counts the time of a scope, shared among as many threads as do the same meanwhile.
class Count {
 public:
  explicit Count(std::atomic<std::int64_t>& nanoseconds) : m_nanoseconds(nanoseconds) {}
  ~Count() {
    const auto took = std::chrono::steady_clock::now() - m_start;
    m_nanoseconds +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(took).count() / omp_get_num_threads();
  }
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;

 private:
  std::atomic<std::int64_t>& m_nanoseconds;
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

std::span<const std::byte> blockOf(const Tensor& tensor, std::int64_t block) {
  const auto begin = static_cast<std::size_t>(block) * kBlockBytes;
  return tensor.byteSpan().subspan(begin, std::min(kBlockBytes, tensor.bytes() - begin));
}

}  // namespace

std::byte* ReplacedBlocks::of(std::size_t output) {
  auto& mine = m_threads[static_cast<std::size_t>(omp_get_thread_num())];
  while (mine.size() <= output) mine.push_back(std::make_unique<Block>());
  return mine[output]->bytes;
}

void UpdateWatch::begin(std::span<Tensor* const> outputs, const std::vector<bool>& wanted) {
  m_outputs.assign(outputs.begin(), outputs.end());
  m_seen.assign(outputs.size(), std::nullopt);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (wanted[i]) m_seen[i].emplace(*outputs[i]);
  m_nanoseconds = 0;
}

void UpdateWatch::beforeBlock(std::int64_t block) {
  const Count count(m_nanoseconds);
  for (std::size_t i = 0; i < m_outputs.size(); ++i) {
    if (!m_seen[i]) continue;
    const auto bytes = blockOf(*m_outputs[i], block);
    std::memcpy(m_replaced->of(i), bytes.data(), bytes.size());
  }
}

void UpdateWatch::afterBlock(std::int64_t block) {
  const Count count(m_nanoseconds);
  for (std::size_t i = 0; i < m_outputs.size(); ++i)
    if (m_seen[i]) m_seen[i]->add(static_cast<std::size_t>(block), m_replaced->of(i));
}

}  // namespace msdbg::core
