// What the operating system says about a process of this machine (/proc). Pure look-ups; thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace msdbg::dump {

struct ProcessInfo {
  char state = '?';             // as in /proc/PID/stat: R, S, D, T (stopped), …
  double cpuSeconds = 0;        // user and system time of all its threads
  std::uint64_t startTime = 0;  // tells two processes with the same pid apart
};

/// nullopt: there is no such process, or it has ended and only waits to be reaped.
std::optional<ProcessInfo> processInfo(pid_t pid);

}  // namespace msdbg::dump
