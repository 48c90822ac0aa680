#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#include "core_engine/distributed/mpi_plugins_internal.h"

namespace msdbg::core {
namespace {

int collectPath(dl_phdr_info* info, std::size_t, void* paths) {
  if (info->dlpi_name && *info->dlpi_name)
    static_cast<std::vector<std::string>*>(paths)->emplace_back(info->dlpi_name);
  return 0;
}

}  // namespace

void keepLibrariesLoaded() {
  std::vector<std::string> paths;
  dl_iterate_phdr(collectPath, &paths);
  // NOLOAD: nothing new; NODELETE: dlclose() has no effect any more. The handle is not needed: one that is
  // null belongs to the kernel's own page (vdso), which stays anyway.
  for (const std::string& path : paths) dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace msdbg::core
