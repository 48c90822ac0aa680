#include "dump/session/run_control.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Result;

constexpr std::size_t kReasonBytes = 512;
constexpr int kReasons = 8;  // so many ranks tell theirs, the others only that there is one

// A new file is all zeros, which must mean "nothing has happened yet": a status is kept + 1.
struct RunControl::Shared {
  std::atomic<std::int64_t> iterations;
  std::atomic<double> loss;
  std::atomic<bool> hasLoss;
  struct Rank {
    std::atomic<std::int64_t> pid, statusPlusOne;
    std::atomic<int> recorderFailed;  // 1: without a reason; 2 + i: reasons[i] has it
  } ranks[kMaxRanks];
  std::atomic<int> reasonsTaken;
  char reasons[kReasons][kReasonBytes];  // each written once, before recorderFailed
};

Result<std::unique_ptr<RunControl>> RunControl::map(const std::filesystem::path& file, int flags) {
  const auto failed = [&](const char* what) {
    return Error(ErrorCode::kIo,
                 std::string("cannot ") + what + " " + file.string() + ": " + strerror(errno));
  };
  const int descriptor = ::open(file.c_str(), flags | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) return failed("open");
  struct stat info {};
  const bool sized = (flags & O_CREAT)
                         ? ftruncate(descriptor, sizeof(Shared)) == 0
                         : fstat(descriptor, &info) == 0 && info.st_size >= off_t{sizeof(Shared)};
  void* memory =
      sized ? mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const Error error = failed("map");
  close(descriptor);
  if (memory == MAP_FAILED) return error;
  return std::unique_ptr<RunControl>(new RunControl(static_cast<Shared*>(memory)));
}

Result<std::unique_ptr<RunControl>> RunControl::create(const std::filesystem::path& file) {
  return map(file, O_CREAT | O_EXCL);
}

Result<std::unique_ptr<RunControl>> RunControl::open(const std::filesystem::path& file) {
  return map(file, 0);
}

RunControl::~RunControl() { munmap(m_shared, sizeof(Shared)); }

void RunControl::setProgress(const Progress& progress) {
  m_shared->loss.store(progress.loss.value_or(0));
  m_shared->hasLoss.store(progress.loss.has_value());
  m_shared->iterations.store(progress.iterations);
}

RunControl::Progress RunControl::progress() const {
  const std::int64_t iterations = m_shared->iterations.load();
  return {iterations, m_shared->hasLoss.load() ? std::optional(m_shared->loss.load()) : std::nullopt};
}

void RunControl::setPid(int rank, std::int64_t pid) { m_shared->ranks[rank].pid.store(pid); }
void RunControl::setEnded(int rank, int status) { m_shared->ranks[rank].statusPlusOne.store(status + 1); }

void RunControl::setRecorderFailed(int rank, const std::string& why) {
  const int reason = m_shared->reasonsTaken.fetch_add(1);
  if (reason < kReasons) why.copy(m_shared->reasons[reason], kReasonBytes - 1);
  m_shared->ranks[rank].recorderFailed.store(reason < kReasons ? 2 + reason : 1);
}

RunControl::Process RunControl::process(int rank) const {
  const Shared::Rank& shared = m_shared->ranks[rank];
  Process process{shared.pid.load(), std::nullopt, {}};
  const int failed = shared.recorderFailed.load();
  if (failed == 1) process.recorderFailure = "the recorder failed: it said why in this program's output";
  if (failed > 1 && failed - 2 < kReasons) process.recorderFailure = m_shared->reasons[failed - 2];
  if (const std::int64_t status = shared.statusPlusOne.load(); status > 0)
    process.status = static_cast<int>(status - 1);
  return process;
}

}  // namespace msdbg::dump
