// The kernels, compiled for the CPU.
#include <cmath>
#include <cstring>

#include "core_engine/device/emulated/run_kernel.h"
#include "core_engine/device/kernels/all_kernels.h"

namespace msdbg::core::device::emulated {
namespace {

#define MSDBG_ROW(kernelName, Parameters, speak) \
  {#kernelName, [](const void* p) { msdbg_##kernelName(*static_cast<const Parameters*>(p)); }, speak},
#define MSDBG_ALONE(kernelName, Parameters) MSDBG_ROW(kernelName, Parameters, false)
#define MSDBG_TOGETHER(kernelName, Parameters) MSDBG_ROW(kernelName, Parameters, true)
constexpr EmulatedKernel kKernels[] = {MSDBG_DEVICE_KERNELS(MSDBG_ALONE, MSDBG_TOGETHER)};

}  // namespace

const EmulatedKernel* findKernel(const char* name) {
  for (const EmulatedKernel& kernel : kKernels)
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  return nullptr;
}

}  // namespace msdbg::core::device::emulated
