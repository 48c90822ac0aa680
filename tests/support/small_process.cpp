#include "tests/support/small_process.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <fstream>
#include <system_error>

namespace msdbg::test {
namespace {

void limitMemory([[maybe_unused]] std::size_t more) {
#ifndef MSDBG_SANITIZE
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

[[noreturn]] void runChild(const std::function<std::string()>& function, const SmallProcess& limits,
                           int pipe) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTERM}) ::signal(signal, SIG_DFL);
  alarm(static_cast<unsigned>(limits.seconds));
  limitMemory(limits.memory);
  std::string text;
  try {
    text = function();
  } catch (const std::exception& exception) {
    text = std::string("an exception: ") + exception.what();
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(pipe, text.data() + done, text.size() - done);
    if (written < 0) break;
    done += static_cast<std::size_t>(written);
  }
  _exit(0);
}

std::string readAll(int pipe) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(pipe, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

}  // namespace

std::string inSmallProcess(const std::function<std::string()>& function, const SmallProcess& limits) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) runChild(function, limits, ends[1]);
  close(ends[1]);
  std::string text = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) return text;
  return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
}

}  // namespace msdbg::test
