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

namespace {

// "NVIDIA H200, sm_90 (driver 13.0, …)", or why there is none.
std::string cudaText() {
  const auto device = core::deviceLibraries(core::BackendKind::kCuda, core::Rank(0));
  if (!device.ok()) return device.error().message();
  std::vector<std::string> rest;
  for (const auto& [name, version] : *device)
    if (name != "device") rest.push_back(name + " " + version);
  return device->front().second + " (" + core::join(rest, ", ") + ")";
}

}  // namespace

std::string versionText() {
  const core::CpuInfo cpu = core::cpuInfo();
  return fmt::format(
      "msdbg {}\n"
      "run format: {}.{}\n"
      "CPU:  built in (oneDNN {}, {})\n"
      "MPI:  {}\n"
      "CUDA: {}\n"
      "GUI:  {}\n",
      MSDBG_VERSION, dump::kFormatMajor, dump::kFormatMinor, cpu.dnnlVersion, cpu.dnnlIsa, kMpi, cudaText(),
      kGui);
}

}  // namespace msdbg::app
