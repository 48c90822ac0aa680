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

std::string isaName(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "other";
  }
}

std::string dnnlVersionText() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace

CpuInfo cpuInfo() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string model = cpuinfoValue(text, "model name");
  if (model.empty()) model = "unknown";
  return {model, knownFeatures(cpuinfoValue(text, "flags")), dnnlVersionText(),
          isaName(dnnl::get_effective_cpu_isa())};
}

}  // namespace msdbg::core
