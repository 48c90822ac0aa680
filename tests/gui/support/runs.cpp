#include "tests/gui/support/runs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/support/run_command.h"

namespace msdbg::test {
namespace {

namespace fs = std::filesystem;

// Test programs run side by side: one records, the others wait for it.
class Lock {
 public:
  explicit Lock(const fs::path& file)
      : m_descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (m_descriptor < 0 || ::flock(m_descriptor, LOCK_EX) != 0)
      throw std::runtime_error("cannot lock " + file.string());
  }
  ~Lock() { ::close(m_descriptor); }

 private:
  int m_descriptor;
};

// Recorded again when msdbg is newer than the run.
fs::path recorded(const std::string& name, std::vector<std::string> arguments) {
  const fs::path folder = buildDir() / "tests/runs", run = folder / (name + ".msdbg");
  fs::create_directories(folder);
  const Lock lock(folder / (name + ".lock"));
  if (fs::exists(run / "run.json") &&
      fs::last_write_time(run / "run.json") > fs::last_write_time(buildDir() / "bin/msdbg"))
    return run;
  arguments.insert(arguments.begin(), "dump");
  arguments.insert(arguments.end(), {"--force", "-o", run.string()});
  const RunResult result = runMsdbg(arguments);
  if (result.exitStatus != 0) throw std::runtime_error("msdbg dump failed: " + result.err);
  return run;
}

}  // namespace

fs::path nanRun() {
  return recorded("nan", {"lenet5", "-n", "2", "--threads", "1", "--steps", "10", "--batch", "16", "--fault",
                          "nan@iteration=4,rank=1,node=*conv2/Conv-op1"});
}

fs::path cleanRun() {
  return recorded("clean", {"mlp", "--threads", "1", "--steps", "12", "--batch", "16", "--max-size", "60MB",
                            "--no-replay"});
}

fs::path replayableRun() {
  return recorded("replayable", {"lenet5", "-n", "2", "--threads", "1", "--steps", "8", "--batch", "8",
                                 "--policy", "record", "--checkpoint-every", "3"});
}

fs::path plantedReplayableRun() {
  return recorded("planted_replayable", {"lenet5", "-n", "2", "--threads", "1", "--steps", "8", "--batch",
                                         "8", "--policy", "record", "--checkpoint-every", "3", "--fault",
                                         "nan@iteration=4,rank=1,node=*conv2/Conv-op1"});
}

ProgramOnPath::ProgramOnPath() : m_before(getenv("PATH") ? getenv("PATH") : "") {
  setenv("PATH", ((buildDir() / "bin").string() + ":" + m_before).c_str(), 1);
}
ProgramOnPath::~ProgramOnPath() { setenv("PATH", m_before.c_str(), 1); }

fs::path copyOf(const fs::path& run, const fs::path& folder) {
  const fs::path copy = folder / run.filename();
  fs::copy(run, copy, fs::copy_options::recursive);
  return copy;
}

}  // namespace msdbg::test
