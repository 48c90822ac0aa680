#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "core_engine/base/log.h"
#include "dump/commit_file.h"
#include "dump/descriptor.h"
#include "dump/journal.h"

namespace msdbg::dump {
namespace {

// Some shared file systems are mounted without locks.
bool hasNoLocks(int error) { return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS; }

// Said once for a run.
void warnOfNoLocks(const std::filesystem::path& file, int error) {
  if (file.parent_path().filename() != "rank_0") return;
  core::logWarn(
      file.parent_path().string() + " is recorded without locks, for its file system has none (" +
      std::generic_category().message(error) +
      "): nothing keeps a second recorder out, and nobody can tell whether this one is still at work");
}

// A reader that looks whether the run is still recorded holds the lock for a moment.
bool lock(int descriptor, const std::filesystem::path& file) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (hasNoLocks(errno)) return warnOfNoLocks(file, errno), true;
    if (errno != EWOULDBLOCK) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

core::Result<std::unique_ptr<JournalWriter>> JournalWriter::create(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return ioError("cannot create", file);
  std::unique_ptr<JournalWriter> writer(new JournalWriter(descriptor, file));
  if (!lock(descriptor, file)) {
    if (errno != EWOULDBLOCK) return ioError("cannot lock", file);
    return core::Error(core::ErrorCode::kUsage,
                       file.string() + ": another process is recording into this run");
  }
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return ioError("cannot read", file);
  if (status.st_size > 0) {
    return core::Error(core::ErrorCode::kUsage,
                       file.string() + " holds a recording already: record into a new folder");
  }
  MSDBG_TRY(syncFolder(file.parent_path()));
  return writer;
}

core::Status JournalWriter::checkPlace() const {
  if (isAt(m_lock, m_file)) return core::Ok{};
  if (!std::filesystem::exists(m_file))
    return core::Error(core::ErrorCode::kIo, m_file.string() + " is gone");
  return core::Error(core::ErrorCode::kIo, m_file.parent_path().string() +
                                               " is another recording now: this one was moved or removed");
}

JournalWriter::~JournalWriter() {
  if (m_out >= 0 && m_out != m_lock) ::close(m_out);
  ::close(m_lock);
}

bool JournalWriter::isBehind() const {
  const std::lock_guard lock(m_mutex);
  return !m_waiting.empty();
}

JournalWriter::Chained JournalWriter::chain(std::span<const std::string> lines) const {
  Chained all{"", m_lastCheck};
  for (const std::string& line : lines) {
    std::string object = withoutCheck(line).value();
    if (!all.lastCheck.empty()) object.insert(object.size() - 1, ",\"after\":\"" + all.lastCheck + "\"");
    const std::string chained = withCheck(object);
    all.lastCheck = checkOfLine(chained);
    all.text += chained + "\n";
  }
  return all;
}

void JournalWriter::appendLater(const std::string& line) {
  const std::lock_guard lock(m_mutex);
  m_later.push_back(line);
}

core::Status JournalWriter::append(std::span<const std::string> lines) {
  const std::lock_guard lock(m_mutex);
  m_waiting.insert(m_waiting.end(), m_later.begin(), m_later.end());
  m_later.clear();
  m_waiting.insert(m_waiting.end(), lines.begin(), lines.end());
  if (m_waiting.empty()) return core::Ok{};
  core::Status status = m_out >= 0 ? writeHere() : core::Status();
  if (m_out < 0) status = goOn();
  if (status.ok()) m_waiting.clear();
  return status;
}

// Where the disk is full, what was written of the lines is taken back, and the file is as it was. After any
// other error nobody knows what lies there: the next fsync would succeed though nothing was written.
core::Status JournalWriter::writeHere() {
  const Chained all = chain(m_waiting);
  const off_t before = ::lseek(m_out, 0, SEEK_END);
  ssize_t written = 0;
  do written = ::write(m_out, all.text.data(), all.text.size());
  while (written < 0 && errno == EINTR);
  const bool whole = written == static_cast<ssize_t>(all.text.size());
  if (whole && ::fsync(m_out) == 0) {
    m_lastCheck = all.lastCheck;
    return core::Ok{};
  }
  if (!whole && written >= 0) errno = ENOSPC;  // a short write
  const bool full = !whole && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
  const core::Error error = ioError("cannot write", m_outFile);
  const bool asBefore = before >= 0 && ::ftruncate(m_out, before) == 0;
  if (full && asBefore) return error;
  if (m_out != m_lock) ::close(m_out);
  m_out = -1;
  return error;
}

// A part comes into the folder whole, with all that waits.
core::Status JournalWriter::goOn() {
  const std::filesystem::path part = m_file.string() + "." + std::to_string(m_parts);
  std::vector<std::string> lines = {formatContinuation(m_parts)};
  lines.insert(lines.end(), m_waiting.begin(), m_waiting.end());
  const Chained all = chain(lines);
  MSDBG_TRY(commitFile(part, all.text));
  ++m_parts;
  m_lastCheck = all.lastCheck;
  m_outFile = part;
  m_out = ::open(part.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);  // without it, the next lines begin another
  return core::Ok{};
}

}  // namespace msdbg::dump
