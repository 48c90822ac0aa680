// The backend of a device: kernels from builtin_kernels.cpp, one launch or a few for each node.
#pragma once

#include <memory>

#include "core_engine/device/device.h"
#include "core_engine/runtime/backend.h"

namespace msdbg::core::device {

/// `name`: "cuda", "emulated"; what kernels are called by.
std::unique_ptr<Backend> makeDeviceBackend(std::string name, std::shared_ptr<Device> device);

}  // namespace msdbg::core::device
