#include "dump/reader/journal_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "dump/writer/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kLargestJournal = 1u << 30;

using core::Error;
using core::ErrorCode;

Error unreadable(const std::filesystem::path& file) {
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  const Error error = ioError("cannot read", file);
  return missing ? Error(ErrorCode::kMissing, error.message()) : error;
}

core::Result<std::string> readFrom(int descriptor, std::uint64_t first, std::uint64_t end,
                                   const std::filesystem::path& file) {
  std::string text(end - first, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        ::pread(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(first + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ioError("cannot read", file);
    if (got == 0) break;  // a torn line was taken back
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

}  // namespace

core::Result<std::string> JournalTail::readOn(const std::filesystem::path& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return unreadable(file);
  if (!S_ISREG(status.st_mode)) return Error(ErrorCode::kDamaged, file.string() + " is not a file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > kLargestJournal) return Error(ErrorCode::kDamaged, file.string() + " is larger than it can be");
  if (inode != 0 && (inode != status.st_ino || size < bytes))
    return Error(ErrorCode::kDamaged, file.string() + " is not the file that it was");
  if (inode != 0 && size == bytes) return std::string();
  // A pipe that takes the file's place now is opened without waiting, and gives nothing.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return unreadable(file);
  auto text = readFrom(descriptor, bytes, size, file);
  ::close(descriptor);
  if (!text.ok()) return text;
  inode = status.st_ino;
  if (const std::size_t end = text->rfind('\n'); end != std::string::npos) {
    bytes += end + 1;
    lines += static_cast<std::uint64_t>(std::count(text->begin(), text->end(), '\n'));
  }
  return text;
}

}  // namespace msdbg::dump
