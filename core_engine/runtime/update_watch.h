// UpdateWatch: statistics of what an update writes over the values that it replaces, taken by the threads
// that compute it, a block at a time, while the block is in their cache. Nobody else can tell afterwards what
// changed, and nothing is read from memory a second time. One watch belongs to one node; blocks by the team.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core_engine/tensor/statistics.h"

namespace msdbg::core {

/// Where each thread keeps the block that is about to be replaced; shared by all watches of an executor.
class ReplacedBlocks {
 public:
  explicit ReplacedBlocks(int threads) : m_threads(static_cast<std::size_t>(threads)) {}
  std::byte* of(std::size_t output);  // of the calling thread

 private:
  struct alignas(64) Block {
    std::byte bytes[kBlockBytes];
  };
  std::vector<std::vector<std::unique_ptr<Block>>> m_threads;  // by thread, then by output
};

class UpdateWatch {
 public:
  static constexpr std::int64_t kElements = kBlockBytes / sizeof(float);  // of a block; outputs are float32

  explicit UpdateWatch(std::shared_ptr<ReplacedBlocks> replaced) : m_replaced(std::move(replaced)) {}
  /// Before the kernel runs. Those of the outputs that are `wanted` hold what is replaced; all are of one
  /// size.
  void begin(std::span<Tensor* const> outputs, const std::vector<bool>& wanted);
  bool watches(std::size_t output) const { return m_seen[output].has_value(); }
  /// Around the computing of elements [block * kElements, …): by the same thread.
  void beforeBlock(std::int64_t block);
  void afterBlock(std::int64_t block);

  /// Of output i, once all blocks are done. Its change is there.
  TensorObservation finish(std::size_t output) { return m_seen[output]->finish(); }
  /// That it took, of the whole team's time.
  double seconds() const { return static_cast<double>(m_nanoseconds) * 1e-9; }

 private:
  std::shared_ptr<ReplacedBlocks> m_replaced;
  std::vector<const Tensor*> m_outputs;
  std::vector<std::optional<BlockwiseObservation>> m_seen;  // by output
  std::atomic<std::int64_t> m_nanoseconds{0};
};

}  // namespace msdbg::core
