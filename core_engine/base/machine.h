// MachineInfo: what this machine is, as far as it decides bits and speed. Read from the system; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace msdbg::core {

struct MachineInfo {
  std::string model;                  // of the processor; "unknown"
  std::vector<std::string> features;  // vector instruction sets, weakest first, as /proc/cpuinfo spells them
  /// "l1d", "l2", "l3" -> bytes, where the system says: libraries cut their work by them.
  std::vector<std::pair<std::string, std::int64_t>> caches;
  std::string libc, compiler;  // versions
};
MachineInfo machineInfo();

}  // namespace msdbg::core
