#include "app/cli/version.h"

#include <fmt/format.h>

#include "core_engine/base/text.h"
#include "core_engine/runtime/backend.h"
#include "dump/run_info.h"

namespace msdbg::app {

#ifdef MSDBG_WITH_MPI
constexpr const char* kMpi = "built in";
#else
constexpr const char* kMpi = "not built in (install libopenmpi-dev and openmpi-bin, then build again)";
#endif

std::string versionText() {
  const core::CpuInfo cpu = core::cpuInfo();
  return fmt::format(
      "msdbg {}\n"
      "run format: {}.{}\n"
      "CPU:  built in (oneDNN {}, {})\n"
      "MPI:  {}\n"
      "CUDA: not built in\n"
      "GUI:  not built in\n",
      MSDBG_VERSION, dump::kFormatMajor, dump::kFormatMinor, cpu.dnnlVersion, cpu.dnnlIsa, kMpi);
}

}  // namespace msdbg::app
