#include "tests/support/run_command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

namespace msdbg::test {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct TempFile {
  FILE* file = tmpfile();
  TempFile() {
    if (!file) fail("tmpfile");
  }
  ~TempFile() { fclose(file); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  int descriptor() const { return fileno(file); }

  std::string read() const {
    std::string text;
    char buffer[65536];
    rewind(file);
    while (const size_t count = fread(buffer, 1, sizeof buffer, file)) text.append(buffer, count);
    return text;
  }
};

[[noreturn]] void becomeChild(char* const* argv, const RunOptions& options, const TempFile& in,
                              const TempFile& out, const TempFile& err) {
  setsid();
  dup2(in.descriptor(), STDIN_FILENO);
  dup2(out.descriptor(), STDOUT_FILENO);
  dup2(err.descriptor(), STDERR_FILENO);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (options.folder.empty() || chdir(options.folder.c_str()) == 0) execvp(argv[0], argv);
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}

// By session, not by process group: mpirun gives each rank a group of its own.
void killSession(pid_t session) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t process = atoi(entry.path().filename().c_str());  // 0: not a process's folder
    if (process > 0 && getsid(process) == session) kill(process, SIGKILL);
  }
}

int shellStatus(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

// Files rather than pipes take the output: a grandchild that outlives the child cannot keep us waiting for
// the end of a pipe, and nothing can fill up.
RunResult runCommand(const std::vector<std::string>& command, const RunOptions& options) {
  const TempFile in, out, err;
  fwrite(options.input.data(), 1, options.input.size(), in.file);
  rewind(in.file);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) becomeChild(argv.data(), options, in, out, err);

  RunResult result;
  const Clock::time_point deadline = Clock::now() + options.timeout;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (!result.timedOut && Clock::now() >= deadline) {
      result.timedOut = true;
      killSession(child);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  killSession(child);  // whatever the program left running
  result.exitStatus = shellStatus(status);
  result.out = out.read();
  result.err = err.read();
  return result;
}

RunResult runMsdbg(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> command = {buildDir() / "bin" / "msdbg"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return runCommand(command, options);
}

std::filesystem::path sourceDir() { return MSDBG_SOURCE_DIR; }
std::filesystem::path buildDir() { return MSDBG_BUILD_DIR; }

}  // namespace msdbg::test
