// The kernels, compiled for GPUs.
#include <cstring>

#include "core_engine/cuda/kernels.h"
#include "core_engine/device/kernels/all_kernels.h"

namespace msdbg::core::device {
namespace {

#define MSDBG_ROW(kernelName, Parameters)                                                  \
  {#kernelName, "kernel " #kernelName, reinterpret_cast<const void*>(&msdbg_##kernelName), \
   sizeof(Parameters)},
const KernelEntry kKernels[] = {MSDBG_DEVICE_KERNELS(MSDBG_ROW, MSDBG_ROW)};
#undef MSDBG_ROW

}  // namespace

const KernelEntry* findKernel(const char* name) {
  for (const KernelEntry& kernel : kKernels)
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  return nullptr;
}

const KernelEntry& firstKernel() { return kKernels[0]; }

}  // namespace msdbg::core::device
