#include "app/presenters/tensor/tensor_cache.h"

#include <algorithm>

namespace msdbg::app {

core::Result<core::Tensor> TensorCache::value(replay::Run& run, const ValueKey& key) {
  const auto found = std::ranges::find(m_newestFirst, key, &Entry::key);
  if (found != m_newestFirst.end()) {
    m_newestFirst.splice(m_newestFirst.begin(), m_newestFirst, found);
    return found->tensor;
  }
  MSDBG_ASSIGN(core::Tensor tensor, run.value(key.rank, key.iteration, key.tensor));
  put(key, tensor);
  return tensor;
}

void TensorCache::put(const ValueKey& key, core::Tensor tensor) {
  m_bytes += tensor.bytes();
  m_newestFirst.push_front({key, std::move(tensor)});
  shrink();
}

void TensorCache::shrink() {
  while (m_bytes > m_mostBytes && m_newestFirst.size() > 2) {
    m_bytes -= m_newestFirst.back().tensor.bytes();
    m_newestFirst.pop_back();
  }
}

}  // namespace msdbg::app
