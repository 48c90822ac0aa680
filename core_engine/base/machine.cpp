#include "core_engine/base/machine.h"

#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

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

std::vector<std::pair<std::string, std::int64_t>> cacheSizes() {
  constexpr std::pair<const char*, int> kCaches[] = {
      {"l1d", _SC_LEVEL1_DCACHE_SIZE}, {"l2", _SC_LEVEL2_CACHE_SIZE}, {"l3", _SC_LEVEL3_CACHE_SIZE}};
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (const auto& [name, key] : kCaches)
    if (const long bytes = sysconf(key); bytes > 0) sizes.emplace_back(name, bytes);
  return sizes;
}

}  // namespace

MachineInfo machineInfo() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string model = cpuinfoValue(text, "model name");
  if (model.empty()) model = "unknown";
  return {model, knownFeatures(cpuinfoValue(text, "flags")), cacheSizes(), gnu_get_libc_version(),
          __VERSION__};
}

}  // namespace msdbg::core
