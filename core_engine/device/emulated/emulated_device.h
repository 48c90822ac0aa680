// The emulated device: a GPU's memory, queue and kernels on the CPU, for tests and for those who have none.
// Memory is the host's, filled with NaN before it is used; copies and kernels are checked to stay inside it
// where addresses are given. Products and convolutions are left to the CPU backend.
#pragma once

#include <memory>

#include "core_engine/device/device.h"
#include "core_engine/device/emulated/run_kernel.h"

namespace msdbg::core::device::emulated {

/// `memoryBytes`: how much it has; 0: as much as the host.
std::unique_ptr<Device> makeEmulatedDevice(ThreadOrder order = ThreadOrder::kForward,
                                           std::size_t memoryBytes = 0);

}  // namespace msdbg::core::device::emulated
