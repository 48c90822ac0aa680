#include "dump/writer/buffer_pool.h"

#include <utility>

namespace msdbg::dump {

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  reset();
  m_memory = std::move(other.m_memory);
  m_size = std::exchange(other.m_size, 0);
  m_pool = std::exchange(other.m_pool, nullptr);
  return *this;
}

void Buffer::reset() {
  if (m_pool) m_pool->giveBack(std::move(m_memory), m_size);
  m_memory.reset();
  m_size = 0;
  m_pool = nullptr;
}

Buffer BufferPool::take(std::size_t bytes) {
  Buffer buffer;
  buffer.m_size = bytes;
  buffer.m_pool = this;
  {
    const std::lock_guard lock(m_mutex);
    auto& free = m_free[bytes];
    if (!free.empty()) {
      buffer.m_memory = std::move(free.back());
      free.pop_back();
      m_kept -= bytes;
    }
  }
  if (!buffer.m_memory) buffer.m_memory.reset(new std::byte[bytes]);
  return buffer;
}

void BufferPool::giveBack(std::unique_ptr<std::byte[]> memory, std::size_t bytes) {
  const std::lock_guard lock(m_mutex);
  if (m_kept + bytes > m_keepBytes) return;  // freed when it goes out of scope
  m_kept += bytes;
  m_free[bytes].push_back(std::move(memory));
}

}  // namespace msdbg::dump
