#include "app/cli/adopted_ranks.h"

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "dump/session/process_info.h"

namespace msdbg::app {
namespace {

// The environment that the process was started with. What another user's is cannot be read.
bool hasVariable(pid_t pid, const std::string& variable) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  const std::string variables = '\0' + std::string(std::istreambuf_iterator<char>(file), {});
  return variables.find('\0' + variable + '\0') != std::string::npos;
}

}  // namespace

bool AdoptedRanks::Process::alive() const {
  const auto process = dump::processInfo(pid);
  return process && process->startTime == startTime;
}

bool AdoptedRanks::adopt(int rank, pid_t pid) {
  const auto process = dump::processInfo(pid);
  if (!process || !hasVariable(pid, "MSDBG_CONTROL=" + m_control.string())) return false;
  m_processes[rank] = {pid, process->startTime};
  return true;
}

bool AdoptedRanks::allEnded() const {
  return std::ranges::none_of(m_processes, [](const auto& rank) { return rank.second.alive(); });
}

void AdoptedRanks::signal(int signal) const {
  for (const auto& [rank, process] : m_processes) {
    if (!process.alive()) continue;
    ::kill(process.pid, signal);
    ::kill(process.pid, SIGCONT);
  }
}

}  // namespace msdbg::app
