#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "dump/descriptor.h"
#include "dump/journal.h"
#include "dump/writer/commit_file.h"

namespace msdbg::dump {
namespace {

// A reader that looks whether the run is still recorded holds the lock for a moment.
bool lock(int descriptor) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
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
  if (!lock(descriptor)) {
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
  if (isAt(m_descriptor, m_file)) return core::Ok{};
  if (!std::filesystem::exists(m_file))
    return core::Error(core::ErrorCode::kIo, m_file.string() + " is gone");
  return core::Error(core::ErrorCode::kIo, m_file.parent_path().string() +
                                               " is another recording now: this one was moved or removed");
}

JournalWriter::~JournalWriter() { ::close(m_descriptor); }

core::Status JournalWriter::append(std::span<const std::string> lines) {
  const std::lock_guard lock(m_mutex);
  std::string text, last = m_lastCheck;
  for (const std::string& line : lines) {
    std::string object = withoutCheck(line).value();
    if (!last.empty()) object.insert(object.size() - 1, ",\"after\":\"" + last + "\"");
    const std::string chained = withCheck(object);
    last = checkOfLine(chained);
    text += chained + "\n";
  }
  const off_t before = ::lseek(m_descriptor, 0, SEEK_END);
  const ssize_t written = ::write(m_descriptor, text.data(), text.size());
  if (written < 0) return ioError("cannot write", m_file);
  if (static_cast<std::size_t>(written) != text.size()) {
    // A short write is a full disk. The torn line goes away, so that the end may still find room.
    (void)!::ftruncate(m_descriptor, before);
    errno = ENOSPC;
    return ioError("cannot write", m_file);
  }
  m_lastCheck = last;
  if (::fsync(m_descriptor) != 0) return ioError("cannot write", m_file);
  return core::Ok{};
}

}  // namespace msdbg::dump
