#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "core_engine/distributed/mpi_threads_internal.h"

namespace msdbg::core {
namespace {

using Clock = std::chrono::steady_clock;

// proc(5): "tid (name) state ..."; the name may hold anything, so the last parenthesis counts. R: runs, or
// would if it got a core; D: goes on when a page of it has been read.
bool runs(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  std::string line;
  if (!std::getline(file, line)) return false;  // it has ended
  const std::size_t name = line.rfind(") ");
  if (name == std::string::npos || name + 2 >= line.size()) return false;
  return line[name + 2] == 'R' || line[name + 2] == 'D';
}

bool anotherRuns() {
  const std::string self = std::to_string(gettid());
  std::error_code error;  // where /proc is not mounted nothing is known, and nothing waits
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error))
    if (task->path().filename() != self && runs(task->path())) return true;
  return false;
}

}  // namespace

void waitUntilOtherThreadsSleep(std::chrono::milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  // Twice, because one thread may wake another that was looked at before it.
  for (int asleep = 0; asleep < 2 && Clock::now() < end;) {
    asleep = anotherRuns() ? 0 : asleep + 1;
    if (asleep == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace msdbg::core
