// How the emulated device runs a kernel: blocks one after another on the calling thread, the threads of a
// block in one of three orders, so that whatever depends on an order shows itself. Used from one thread at a
// time.
#pragma once

#include <cstdint>
#include <string>

#include "core_engine/device/device.h"

namespace msdbg::core::device::emulated {

struct EmulatedKernel {
  const char* name;
  void (*run)(const void* parameters);
  bool together;  // its threads speak to each other
};
/// nullptr: there is none.
const EmulatedKernel* findKernel(const char* name);

enum class ThreadOrder { kForward, kBackward, kShuffled };

/// "" or what the kernel did wrong: a shuffle with a thread that has returned, a barrier that not all reach,
/// a barrier or shuffle in a kernel that is not listed as one of threads that speak.
std::string runKernel(const EmulatedKernel& kernel, const LaunchShape& shape, const void* parameters,
                      ThreadOrder order);

}  // namespace msdbg::core::device::emulated
