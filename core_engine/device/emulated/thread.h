// A kernel's view of itself on the emulated device: what kernels/kernel.h gives it on a GPU, by the same
// names. Kernels run on the calling thread, one thread of theirs after another, or as fibers that take turns
// at barriers and shuffles (run_kernel.h).
#pragma once

#include <cstdint>
#include <cstring>

namespace msdbg::core::device {

namespace emulated {

struct Position {
  std::int64_t thread = 0, block = 0, threads = 0, blocks = 0;
};
extern thread_local Position position;

/// Waits for all threads of the block that have not returned.
void waitForBlock();
/// Puts `bits` where the 15 others of the group can see it, waits for them, and gives those of the thread
/// whose lane is `lane`.
std::uint64_t exchange(std::uint64_t bits, int lane);

}  // namespace emulated

inline std::int64_t threadInBlock() { return emulated::position.thread; }
inline std::int64_t block() { return emulated::position.block; }
inline std::int64_t blocks() { return emulated::position.blocks; }
inline std::int64_t threadsOfBlock() { return emulated::position.threads; }
inline void blockBarrier() { emulated::waitForBlock(); }

template <typename T>
T fromLane(T value, int lane) {
  static_assert(sizeof value <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = emulated::exchange(bits, lane);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename T>
T fromLaneXor(T value, int bits) {
  return fromLane(value, static_cast<int>(emulated::position.thread % 16) ^ bits);
}

}  // namespace msdbg::core::device
