// Memory for copies of tensors. Training asks for the same sizes in every iteration, so freed buffers are
// kept by size and come back with their pages mapped. Thread-safe; the pool must outlive its buffers.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace msdbg::dump {

class BufferPool;

/// Move-only; goes back to its pool.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { reset(); }
  void reset();
  std::span<std::byte> bytes() const { return {m_memory.get(), m_size}; }
  std::size_t size() const { return m_size; }

 private:
  friend class BufferPool;
  std::unique_ptr<std::byte[]> m_memory;
  std::size_t m_size = 0;
  BufferPool* m_pool = nullptr;
};

class BufferPool {
 public:
  explicit BufferPool(std::size_t keepBytes) : m_keepBytes(keepBytes) {}
  /// Uninitialised memory.
  Buffer take(std::size_t bytes);

 private:
  friend class Buffer;
  void giveBack(std::unique_ptr<std::byte[]> memory, std::size_t bytes);
  std::mutex m_mutex;
  std::map<std::size_t, std::vector<std::unique_ptr<std::byte[]>>> m_free;
  std::size_t m_keepBytes, m_kept = 0;
};

}  // namespace msdbg::dump
