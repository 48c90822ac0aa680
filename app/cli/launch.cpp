#include "app/cli/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "core_engine/base/mpirun.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;
using Clock = std::chrono::steady_clock;

namespace {

// mpirun has what the ranks printed within this time after the last of them ended.
constexpr auto kDrain = std::chrono::seconds(1);

[[noreturn]] void becomeProgram(const ProcessSpec& spec, char* const* argv, pid_t parent, int errorPipe) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
  if (spec.ownGroup) setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_DFL);
  for (const auto& [name, value] : spec.environment) setenv(name.c_str(), value.c_str(), 1);
  if (spec.stdoutToStderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  execvp(argv[0], argv);
  const int reason = errno;
  [[maybe_unused]] const ssize_t written = write(errorPipe, &reason, sizeof reason);
  _exit(127);
}

std::string sharedMemoryFolder() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path().string();
}

constexpr std::string_view kFolderName = "msdbg-launch-";
constexpr auto kYoung = std::chrono::minutes(1);  // its launcher may not have locked it yet

dump::Descriptor openFolder(const fs::path& folder) {
  return dump::Descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool isAbandoned(const fs::path& folder) {
  struct stat status {};
  const dump::Descriptor descriptor = openFolder(folder);
  if (!descriptor.valid() || fstat(descriptor.get(), &status) != 0 || status.st_uid != geteuid())
    return false;
  const auto changed = std::chrono::system_clock::from_time_t(status.st_mtime);
  return std::chrono::system_clock::now() - changed > kYoung && descriptor.lockAlone();
}

// A launcher holds a lock on its folder and removes it at its end, unless it was killed. What cannot be
// removed is no failure of this run.
void removeAbandoned(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (fs::directory_iterator entry(parent, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (entry->path().filename().string().starts_with(kFolderName) && isAbandoned(entry->path()))
      abandoned.push_back(entry->path());
  for (const fs::path& folder : abandoned) fs::remove_all(folder, ignored);
}

}  // namespace

Result<pid_t> startProcess(const ProcessSpec& spec) {
  std::vector<char*> argv;
  for (const std::string& word : spec.program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::array<int, 2> errors{};
  if (spec.program.empty() || pipe2(errors.data(), O_CLOEXEC) != 0)
    return Error(ErrorCode::kUsage, "there is no program to start");
  fflush(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) becomeProgram(spec, argv.data(), parent, errors[1]);
  close(errors[1]);
  int reason = child < 0 ? errno : 0;
  const bool failed = child < 0 || read(errors[0], &reason, sizeof reason) == sizeof reason;
  close(errors[0]);
  if (!failed) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  return Error(ErrorCode::kUsage, "cannot start " + spec.program[0] + ": " + strerror(reason));
}

Status Launch::prepare() {
  removeAbandoned(sharedMemoryFolder());
  std::string folder = sharedMemoryFolder() + "/" + std::string(kFolderName) + "XXXXXX";
  if (!mkdtemp(folder.data()))
    return Error(ErrorCode::kIo, "cannot create " + folder + ": " + strerror(errno));
  m_folder = folder;
  m_lock = openFolder(m_folder);
  (void)m_lock.lockAlone();  // without locks nobody's folder looks abandoned
  MSDBG_ASSIGN(m_control, dump::RunControl::create(m_folder / "control"));
  m_adopted.emplace(m_folder / "control");
  return Ok{};
}

Result<std::unique_ptr<Launch>> Launch::start(ProcessSpec spec, int ranks) {
  std::unique_ptr<Launch> launch(new Launch(ranks));
  MSDBG_TRY(launch->prepare());
  spec.environment.emplace_back("MSDBG_CONTROL", (launch->m_folder / "control").string());
  spec.ownGroup = true;
  if (ranks > 1) {
    std::vector<std::string> words = {fs::read_symlink("/proc/self/exe").string(), "run-rank", "--"};
    words.insert(words.end(), spec.program.begin(), spec.program.end());
    spec.program = core::mpirunCommand(ranks, words);
    for (const auto& variable : core::mpirunEnvironment()) spec.environment.push_back(variable);
    // Its files lie where they are removed, even if mpirun has to be killed.
    spec.environment.emplace_back("OMPI_MCA_orte_tmpdir_base", launch->m_folder.string());
    spec.environment.emplace_back("OMPI_MCA_btl_vader_backing_directory", launch->m_folder.string());
  }
  auto child = startProcess(spec);
  if (!child.ok() && ranks > 1)
    return Error(ErrorCode::kMissing,
                 child.error().message() + "; install openmpi-bin, or train on one rank");
  if (!child.ok()) return child.error();
  launch->m_child = *child;
  if (ranks == 1) launch->m_control->setPid(0, *child);
  return launch;
}

void Launch::reap() {
  int status = 0;
  if (m_childStatus || waitpid(m_child, &status, WNOHANG) != m_child) return;
  m_childStatus = status;
  if (m_ranks == 1) m_control->setEnded(0, status);
}

bool Launch::allEnded() const {
  for (int rank = 0; rank < m_ranks; ++rank)
    if (!rankStatus(rank)) return false;
  return true;
}

bool Launch::over() {
  reap();
  if (m_childStatus) return m_adopted->allEnded();
  if (!allEnded()) return false;
  // After a rank's death mpirun waits for seconds, even when no rank is left.
  if (!m_allEndedAt) m_allEndedAt = Clock::now();
  if (Clock::now() - *m_allEndedAt < kDrain) return false;
  ::kill(m_child, SIGKILL);
  waitpid(m_child, nullptr, 0);
  m_childStatus = 0;
  return true;
}

std::optional<int> Launch::launcherFailure() const {
  if (m_ranks == 1 || !m_childStatus || allEnded()) return std::nullopt;
  return m_childStatus;
}

void Launch::signalRanks(int signal) {
  for (int rank = 0; rank < m_ranks; ++rank) {
    const dump::RunControl::Process process = m_control->process(rank);
    if (process.pid <= 0 || process.status) continue;
    ::kill(static_cast<pid_t>(process.pid), signal);
    ::kill(static_cast<pid_t>(process.pid), SIGCONT);
  }
  m_adopted->signal(signal);
}

void Launch::kill() {
  signalRanks(SIGKILL);
  for (int i = 0; i < 20 && !over(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (m_childStatus) return;
  ::kill(m_child, SIGKILL);
  int status = 0;
  waitpid(m_child, &status, 0);
  m_childStatus = status;
}

Launch::~Launch() {
  if (m_child > 0 && !m_childStatus) kill();
  std::error_code ignored;
  if (!m_folder.empty()) fs::remove_all(m_folder, ignored);
}

}  // namespace msdbg::app
