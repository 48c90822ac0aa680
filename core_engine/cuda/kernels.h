// The kernels of this module, by name.
#pragma once

#include <cstddef>

namespace msdbg::core::device {

struct KernelEntry {
  const char* name;      // "softmax"
  const char* label;     // "kernel softmax", as messages name it
  const void* function;  // what cudaLaunchKernel takes
  std::size_t parameterBytes;
};

/// nullptr: there is none of that name.
const KernelEntry* findKernel(const char* name);
/// Any of them: whether the module holds code for a GPU is the same for all.
const KernelEntry& firstKernel();

}  // namespace msdbg::core::device
