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

#ifdef MSDBG_WITH_GUI
constexpr const char* kGui = "built in (msdbg-gui)";
#else
constexpr const char* kGui =
    "not built in (install what packages.txt lists for the window, then build again)";
#endif

std::string versionText() {
  const core::CpuInfo cpu = core::cpuInfo();
  return fmt::format(
      "msdbg {}\n"
      "run format: {}.{}\n"
      "CPU:  built in (oneDNN {}, {})\n"
      "MPI:  {}\n"
      "CUDA: not built in\n"
      "GUI:  {}\n",
      MSDBG_VERSION, dump::kFormatMajor, dump::kFormatMinor, cpu.dnnlVersion, cpu.dnnlIsa, kMpi, kGui);
}

}  // namespace msdbg::app
