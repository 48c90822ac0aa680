// TensorCache: the tensors that the tensor panel looked at last, so that another slice, a picture or a tile
// reads no file. Made on the UI thread, shared with the jobs, touched on the replay thread only.
#pragma once

#include <list>

#include "replay/run.h"

namespace msdbg::app {

/// One value: a tensor of a rank at an iteration.
struct ValueKey {
  core::Rank rank;
  core::Iteration iteration;
  core::TensorId tensor;
  bool operator==(const ValueKey&) const = default;
};

class TensorCache {
 public:
  explicit TensorCache(std::size_t mostBytes = std::size_t{256} << 20) : m_mostBytes(mostBytes) {}

  /// From memory, else from the run. Errors are not kept: the next call tries again. Beyond the most bytes
  /// the least recently used go; the last two always stay, because a comparison needs both.
  core::Result<core::Tensor> value(replay::Run& run, const ValueKey& key);
  /// A value that the run does not hold.
  void put(const ValueKey& key, core::Tensor tensor);
  std::size_t bytes() const { return m_bytes; }

 private:
  struct Entry {
    ValueKey key;
    core::Tensor tensor;
  };
  void shrink();
  std::size_t m_mostBytes;
  std::size_t m_bytes = 0;
  std::list<Entry> m_newestFirst;
};

}  // namespace msdbg::app
