#include <dnnl.hpp>

#include "core_engine/base/machine.h"
#include "core_engine/runtime/backend.h"

namespace msdbg::core {
namespace {

constexpr std::pair<dnnl::cpu_isa, const char*> kInstructionSets[] = {
    {dnnl::cpu_isa::sse41, "sse41"},
    {dnnl::cpu_isa::avx, "avx"},
    {dnnl::cpu_isa::avx2, "avx2"},
    {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
    {dnnl::cpu_isa::avx512_core, "avx512_core"},
    {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
    {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
    {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
};

std::string isaName(dnnl::cpu_isa isa) {
  for (const auto& [known, name] : kInstructionSets)
    if (known == isa) return name;
  return "other";
}

std::string dnnlVersionText() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace

CpuInfo cpuInfo() {
  const MachineInfo machine = machineInfo();
  const std::string version = dnnlVersionText(), isa = isaName(dnnl::get_effective_cpu_isa());
  return {machine.model,
          machine.features,
          version,
          isa,
          machine.caches,
          {{"dnnl", version + " " + isa}, {"libc", machine.libc}, {"compiler", machine.compiler}}};
}

Status limitInstructionSet(const std::string& dnnlIsa) {
  for (const auto& [isa, name] : kInstructionSets) {
    if (name != dnnlIsa) continue;
    if (dnnl::set_max_cpu_isa(isa) == dnnl::status::success) return Ok{};
    return Error(ErrorCode::kUnsupported, "oneDNN was used before it could be limited to " + dnnlIsa);
  }
  return Error(ErrorCode::kUnsupported, "oneDNN here knows no instruction set called " + dnnlIsa);
}

}  // namespace msdbg::core
