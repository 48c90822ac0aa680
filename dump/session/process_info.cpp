#include "dump/session/process_info.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace msdbg::dump {

std::optional<ProcessInfo> processInfo(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (pid <= 0 || !std::getline(file, line)) return std::nullopt;
  const std::size_t nameEnd = line.rfind(')');  // the name itself may hold spaces and brackets
  if (nameEnd == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(nameEnd + 1));
  ProcessInfo info;
  fields >> info.state;
  std::uint64_t ticks = 0;
  for (int field = 4; field <= 22; ++field) {  // numbered as in proc(5)
    std::string value;
    if (!(fields >> value)) return std::nullopt;
    if (field == 14 || field == 15) ticks += std::stoull(value);
    if (field == 22) info.startTime = std::stoull(value);
  }
  if (info.state == 'Z' || info.state == 'X') return std::nullopt;
  info.cpuSeconds = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return info;
}

}  // namespace msdbg::dump
