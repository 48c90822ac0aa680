#include "dump/python/record/freed_memory.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace msdbg::dump {

void keepFreedMemory() {
#if defined(__GLIBC__)
  constexpr const char* kSettings[] = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_",
                                       "GLIBC_TUNABLES"};
  if (std::any_of(std::begin(kSettings), std::end(kSettings),
                  [](const char* name) { return std::getenv(name); }))
    return;
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // where glibc's own rule ends: any setting ends that rule
  mallopt(M_TRIM_THRESHOLD, 512 * kMiB);
#endif
}

}  // namespace msdbg::dump
