#include "dump/reader/journal_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kLargestJournal = 1ull << 32;  // months; only a line at a time is in memory
constexpr std::uint64_t kPiece = 1u << 20;

using core::Error;
using core::ErrorCode;

Error unreadable(const std::filesystem::path& file) {
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  const Error error = ioError("cannot read", file);
  return missing ? Error(ErrorCode::kMissing, error.message()) : error;
}

// With memchr, which looks at many bytes at a time.
std::uint64_t linesIn(std::string_view piece) {
  std::uint64_t lines = 0;
  for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos; ++lines)
    piece.remove_prefix(end + 1);
  return lines;
}

// Fewer bytes than wanted: a torn line was taken back.
core::Result<std::size_t> readAt(int descriptor, std::uint64_t first, std::span<char> into,
                                 const std::filesystem::path& file) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(descriptor, into.data() + done, into.size() - done, static_cast<off_t>(first + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ioError("cannot read", file);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

core::Status readPieces(int descriptor, std::uint64_t first, std::uint64_t end,
                        const std::filesystem::path& file, const JournalTail::Take& take) {
  std::string piece(std::min(kPiece, end - first), '\0');
  while (first < end) {
    const std::span<char> wanted(piece.data(), std::min<std::size_t>(piece.size(), end - first));
    MSDBG_ASSIGN(const std::size_t got, readAt(descriptor, first, wanted, file));
    if (got > 0) take(std::string_view(piece).substr(0, got));
    if (got < wanted.size()) break;
    first += got;
  }
  return core::Ok{};
}

}  // namespace

std::filesystem::path journalPart(const std::filesystem::path& file, int part) {
  return part == 0 ? file : std::filesystem::path(file.string() + "." + std::to_string(part));
}

// A part that another follows is never added to. Its last line may be torn: that is why it goes on elsewhere,
// where what it said stands again.
core::Status JournalTail::readOn(const std::filesystem::path& file, const Take& take) {
  while (true) {
    std::error_code error;
    const bool goesOn = std::filesystem::exists(journalPart(file, part + 1), error);
    MSDBG_TRY(readPart(journalPart(file, part), goesOn, take));
    if (!goesOn) return core::Ok{};
    ++part;
    bytes = inode = size = 0;
  }
}

core::Status JournalTail::readPart(const std::filesystem::path& file, bool wholeLines, const Take& take) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return unreadable(file);
  if (!S_ISREG(status.st_mode)) return Error(ErrorCode::kDamaged, file.string() + " is not a file");
  const auto length = static_cast<std::uint64_t>(status.st_size);
  if (length > kLargestJournal)
    return Error(ErrorCode::kDamaged, file.string() + " is larger than it can be");
  if (inode != 0 && (inode != status.st_ino || length < bytes))
    return Error(ErrorCode::kDamaged, file.string() + " is not the file that it was");
  if (inode != 0 && length == bytes) return core::Ok{};
  // A pipe that takes the file's place now is opened without waiting, and gives nothing.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return unreadable(file);
  std::uint64_t at = bytes, end = bytes, seen = 0;
  std::string held;  // of a line whose end has not come
  const core::Status read = readPieces(descriptor, bytes, length, file, [&](std::string_view piece) {
    const std::size_t last = piece.rfind('\n');
    if (last != std::string_view::npos) end = at + last + 1;
    seen += linesIn(piece);
    at += piece.size();
    if (!wholeLines) return take(piece);
    if (last != std::string_view::npos) {
      take(held);
      take(piece.substr(0, last + 1));
      held.clear();
      piece.remove_prefix(last + 1);
    }
    held += piece;
  });
  ::close(descriptor);
  if (!read.ok()) return read;
  size = length;
  inode = status.st_ino;
  bytes = end;
  lines += seen;
  return core::Ok{};
}

bool JournalTail::hasChanged(const std::filesystem::path& file) const {
  struct stat status = {};
  if (::stat(journalPart(file, part + 1).c_str(), &status) == 0) return true;
  if (::stat(journalPart(file, part).c_str(), &status) != 0) return inode != 0;
  return inode != status.st_ino || size != static_cast<std::uint64_t>(status.st_size);
}

core::Result<std::string> JournalTail::readOn(const std::filesystem::path& file) {
  std::string text;
  MSDBG_TRY(readOn(file, [&](std::string_view piece) { text += piece; }));
  return text;
}

}  // namespace msdbg::dump
