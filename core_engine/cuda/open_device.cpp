// What the module exports.
#include <exception>

#include "core_engine/cuda/cuda_device.h"

extern "C" __attribute__((visibility("default"))) msdbg::core::device::Device* msdbgOpenDevice(
    int number, int abi, std::string* why) {
  using namespace msdbg::core::device;
  try {
    if (abi == kAbi) return CudaDevice::open(number, *why).release();
    *why = "the CUDA module is of another version of msdbg: interface " + std::to_string(kAbi) +
           " instead of " + std::to_string(abi);
  } catch (const std::exception& e) {
    *why = e.what();
  }
  return nullptr;
}
