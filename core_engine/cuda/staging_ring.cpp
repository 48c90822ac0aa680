#include "core_engine/cuda/staging_ring.h"

#include <algorithm>
#include <cstring>

namespace msdbg::core::device {
namespace {

constexpr std::size_t kSlotBytes = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 64;

}  // namespace

StagingRing::~StagingRing() {
  for (const Slot& slot : m_slots) {
    if (slot.done) cudaEventDestroy(slot.done);
    if (slot.memory) cudaFreeHost(slot.memory);
  }
}

cudaError_t StagingRing::open(cudaStream_t stream) {
  m_stream = stream;
  for (Slot& slot : m_slots) {
    void* memory = nullptr;
    if (const cudaError_t status = cudaMallocHost(&memory, kSlotBytes); status != cudaSuccess) return status;
    slot.memory = static_cast<std::byte*>(memory);
    const cudaError_t status = cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

cudaError_t StagingRing::nextSlot() {
  if (const cudaError_t status = cudaEventRecord(m_slots[m_slot].done, m_stream); status != cudaSuccess)
    return status;
  m_slot = (m_slot + 1) % m_slots.size();
  m_used = 0;
  return cudaEventSynchronize(m_slots[m_slot].done);  // an event that was never recorded is done
}

cudaError_t StagingRing::copy(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    if (m_used == kSlotBytes)
      if (const cudaError_t status = nextSlot(); status != cudaSuccess) return status;
    const std::size_t part = std::min(bytes, kSlotBytes - m_used);
    std::byte* staged = m_slots[m_slot].memory + m_used;
    std::memcpy(staged, source, part);
    const cudaError_t status = cudaMemcpyAsync(target, staged, part, cudaMemcpyHostToDevice, m_stream);
    if (status != cudaSuccess) return status;
    m_used = std::min(kSlotBytes, (m_used + part + kAlignment - 1) / kAlignment * kAlignment);
    target += part;
    source += part;
    bytes -= part;
  }
  return cudaSuccess;
}

}  // namespace msdbg::core::device
