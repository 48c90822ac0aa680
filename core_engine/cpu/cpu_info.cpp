#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <dnnl.hpp>
#include <fstream>
#include <sstream>

#include "core_engine/runtime/backend.h"

namespace msdbg::core {
namespace {

// The features that decide which bits library kernels produce, weakest first, as /proc/cpuinfo spells them.
constexpr std::string_view kFeatures[] = {"sse4_1",      "sse4_2",      "avx",      "f16c",     "fma",
                                          "avx2",        "avx512f",     "avx512dq", "avx512bw", "avx512vl",
                                          "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"};

/// The value of the first line "key : value".
std::string cpuinfoValue(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(' ', colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::vector<std::string> knownFeatures(const std::string& flags) {
  std::vector<std::string> present, known;
  std::istringstream words(flags);
  for (std::string word; words >> word;) present.push_back(word);
  for (std::string_view feature : kFeatures)
    if (std::find(present.begin(), present.end(), feature) != present.end()) known.emplace_back(feature);
  return known;
}

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

std::vector<std::pair<std::string, std::int64_t>> cacheSizes() {
  constexpr std::pair<const char*, int> kCaches[] = {
      {"l1d", _SC_LEVEL1_DCACHE_SIZE}, {"l2", _SC_LEVEL2_CACHE_SIZE}, {"l3", _SC_LEVEL3_CACHE_SIZE}};
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (const auto& [name, key] : kCaches)
    if (const long bytes = sysconf(key); bytes > 0) sizes.emplace_back(name, bytes);
  return sizes;
}

}  // namespace

CpuInfo cpuInfo() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string model = cpuinfoValue(text, "model name");
  if (model.empty()) model = "unknown";
  const std::string version = dnnlVersionText(), isa = isaName(dnnl::get_effective_cpu_isa());
  return {model,
          knownFeatures(cpuinfoValue(text, "flags")),
          version,
          isa,
          cacheSizes(),
          {{"dnnl", version + " " + isa}, {"libc", gnu_get_libc_version()}, {"compiler", __VERSION__}}};
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
