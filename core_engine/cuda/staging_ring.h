// Pinned memory through which everything goes that is copied to the device: the caller may change what it
// handed over as soon as the call returns, whether its memory is pinned or not, and the stream is not waited
// for.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

namespace msdbg::core::device {

class StagingRing {
 public:
  StagingRing() = default;
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;
  ~StagingRing();

  cudaError_t open(cudaStream_t stream);
  /// Waits only where the copies of the last 16 MiB are not done yet.
  cudaError_t copy(void* to, const void* from, std::size_t bytes);

 private:
  struct Slot {
    std::byte* memory = nullptr;
    cudaEvent_t done = nullptr;  // what was copied out of it; recorded when the next slot begins
  };
  cudaError_t nextSlot();

  cudaStream_t m_stream = nullptr;
  std::array<Slot, 4> m_slots;
  std::size_t m_slot = 0, m_used = 0;  // of m_slots[m_slot], in bytes
};

}  // namespace msdbg::core::device
