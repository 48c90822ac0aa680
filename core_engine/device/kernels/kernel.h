// How a kernel is written so that one source is compiled for a GPU (core_engine/cuda/kernels.cu) and for the
// emulated device (../emulated): one parameter, a struct of plain numbers and addresses; a grid of one
// dimension; threads of a group of 16 speak by shuffles, those of a block by barriers. What is summed up is
// summed in the order of the CPU's kernels: 16 lanes, folded in one order (core_engine/cpu/tile_bodies.h).
#pragma once

#include <cstdint>

#include "core_engine/base/inline.h"
#include "core_engine/device/kernels/parameters.h"

#if defined(__CUDACC__)

#define MSDBG_KERNEL(name, Params) extern "C" __global__ void msdbg_##name(const __grid_constant__ Params p)
#define MSDBG_DEVICE __device__ __forceinline__
#define MSDBG_SHARED __shared__
#define MSDBG_UNROLL _Pragma("unroll")

namespace msdbg::core::device {

MSDBG_DEVICE std::int64_t threadInBlock() { return threadIdx.x; }
MSDBG_DEVICE std::int64_t block() { return blockIdx.x; }
MSDBG_DEVICE std::int64_t blocks() { return gridDim.x; }
MSDBG_DEVICE std::int64_t threadsOfBlock() { return blockDim.x; }
MSDBG_DEVICE void blockBarrier() { __syncthreads(); }

/// The value of the thread whose lane differs in the bits of `bits` (1, 2, 4, 8); of a group of 16.
template <typename T>
MSDBG_DEVICE T fromLaneXor(T value, int bits) {
  return __shfl_xor_sync(0xffffu << (threadIdx.x & 16u), value, bits, 16);
}
/// The value of the thread of lane `lane` of the group.
template <typename T>
MSDBG_DEVICE T fromLane(T value, int lane) {
  return __shfl_sync(0xffffu << (threadIdx.x & 16u), value, lane, 16);
}

}  // namespace msdbg::core::device

#else

#include "core_engine/device/emulated/thread.h"

#define MSDBG_KERNEL(name, Params) static void msdbg_##name(const Params& p)
#define MSDBG_DEVICE inline
#define MSDBG_SHARED static thread_local
#define MSDBG_UNROLL

#endif

namespace msdbg::core::device {

MSDBG_DEVICE std::int64_t globalThread() { return block() * threadsOfBlock() + threadInBlock(); }
MSDBG_DEVICE std::int64_t allThreads() { return blocks() * threadsOfBlock(); }
MSDBG_DEVICE int laneOfGroup() { return static_cast<int>(threadInBlock() % kGroup); }
MSDBG_DEVICE std::int64_t globalGroup() { return globalThread() / kGroup; }
MSDBG_DEVICE std::int64_t allGroups() { return allThreads() / kGroup; }

}  // namespace msdbg::core::device
