// A kernel of the host for a node whose tensors lie on a device: between two copies.
#pragma once

#include <memory>

#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/device_memory.h"

namespace msdbg::core {

std::unique_ptr<KernelImpl> onDevice(std::unique_ptr<KernelImpl> hostKernel, DeviceMemory& device);

}  // namespace msdbg::core
