#include "replay/recompute/free_memory.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace msdbg::replay {

std::optional<std::uint64_t> freeMemory() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:")) return 1024 * std::strtoull(line.c_str() + 13, nullptr, 10);
  return std::nullopt;
}

}  // namespace msdbg::replay
