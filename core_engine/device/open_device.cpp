// Which device a backend computes on: the emulated one, or that of the module for CUDA, which is looked for
// beside the program (../lib/msdbg), where MSDBG_CUDA_MODULE says, and where the loader looks.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "core_engine/base/text.h"
#include "core_engine/device/device_backend.h"
#include "core_engine/device/emulated/emulated_device.h"

namespace msdbg::core {
namespace {

namespace fs = std::filesystem;
using device::Device;

constexpr char kModule[] = "libmsdbg_cuda.so";

// What to say behind "--backend cuda: ".
Error noCuda(const std::string& why) {
  return Error(ErrorCode::kUnsupported,
               why + "; --backend emulated runs the same kernels on the CPU, slowly");
}

Result<std::shared_ptr<Device>> openCuda(int number) {
  const std::string known = cudaModule(), name = known.empty() ? kModule : known;
  void* module = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) {
    const char* why = ::dlerror();
    return noCuda("its module is not found (" + std::string(why ? why : name) +
                  "): MSDBG_CUDA_MODULE may say where it is; where msdbg was built without it, ./dev setup "
                  "cuda brings the "
                  "CUDA toolkit, then build again");
  }
  const auto open = reinterpret_cast<device::OpenFunction>(::dlsym(module, device::kOpenName));
  if (!open) return noCuda(name + " is no module of msdbg");
  std::string why;
  Device* opened = open(number, device::kAbi, &why);
  if (!opened) return noCuda(why);
  return std::shared_ptr<Device>(opened);  // the module stays: its code is needed to the end
}

}  // namespace

std::string cudaModule() {
  if (const char* given = std::getenv("MSDBG_CUDA_MODULE"); given && *given) return given;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  for (const fs::path& folder : {program.parent_path() / "../lib/msdbg", program.parent_path()})
    if (const fs::path file = folder / kModule; fs::exists(file, error)) return file.lexically_normal();
  return "";
}

Result<std::unique_ptr<Backend>> makeDeviceBackend(BackendKind kind, Rank rank) {
  if (kind == BackendKind::kEmulated)
    return device::makeDeviceBackend("emulated", device::emulated::makeEmulatedDevice());
  Result<std::shared_ptr<Device>> opened = openCuda(static_cast<int>(rank.value));
  if (!opened.ok()) return opened.error().in("--backend cuda");
  return device::makeDeviceBackend("cuda", std::move(opened).value());
}

Result<std::vector<std::pair<std::string, std::string>>> deviceLibraries(BackendKind kind, Rank rank) {
  std::vector<std::pair<std::string, std::string>> libraries;
  if (kind != BackendKind::kCuda) return libraries;
  MSDBG_ASSIGN(const std::shared_ptr<Device> opened, openCuda(static_cast<int>(rank.value)));
  const device::DeviceFacts& facts = opened->facts();
  libraries.emplace_back("device", facts.name + ", " + facts.architecture);
  libraries.insert(libraries.end(), facts.libraries.begin(), facts.libraries.end());
  return libraries;
}

}  // namespace msdbg::core
