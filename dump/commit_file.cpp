#include "dump/commit_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dump/descriptor.h"

namespace msdbg::dump {
namespace {

core::Status writeAll(int descriptor, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min<std::size_t>(bytes.size(), 64u << 20));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return ioError("cannot write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return core::Ok{};
}

core::Status writeNew(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return ioError("cannot create", path);
  MSDBG_TRY(writeAll(file.get(), bytes, path));
  if (::fsync(file.get()) != 0) return ioError("cannot write", path);
  if (::close(file.release()) != 0) return ioError("cannot write", path);
  return core::Ok{};
}

}  // namespace

core::Error ioError(const std::string& what, const std::filesystem::path& path) {
  return {core::ErrorCode::kIo, what + " " + path.string() + ": " + std::strerror(errno)};
}

core::Status syncFolder(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder (EINVAL); the rename is then as durable as they make it.
  if (descriptor.get() < 0 || (::fsync(descriptor.get()) != 0 && errno != EINVAL))
    return ioError("cannot sync", folder);
  return core::Ok{};
}

static core::Status commitAs(const std::filesystem::path& file, const std::string& temporaryName,
                             std::span<const std::byte> bytes) {
  const std::filesystem::path temporary = file.parent_path() / temporaryName;
  core::Status status = writeNew(temporary, bytes);
  if (status.ok() && ::rename(temporary.c_str(), file.c_str()) != 0)
    status = ioError("cannot rename to", file);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return syncFolder(file.parent_path());
}

core::Status commitFile(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  return commitAs(file, "." + file.filename().string() + ".tmp", bytes);
}

core::Status commitFile(const std::filesystem::path& file, std::string_view text) {
  return commitFile(file, std::as_bytes(std::span(text.data(), text.size())));
}

core::Status commitCopy(const std::filesystem::path& file, std::string_view text) {
  return commitAs(file, "." + file.filename().string() + "." + std::to_string(::getpid()) + ".tmp",
                  std::as_bytes(std::span(text.data(), text.size())));
}

core::Status commitShared(const std::filesystem::path& file, std::string_view text, core::Rank rank) {
  std::error_code error;
  if (std::filesystem::file_size(file, error) == text.size() && !error) return syncFolder(file.parent_path());
  return commitAs(file, "." + file.filename().string() + "." + std::to_string(rank.value) + ".tmp",
                  std::as_bytes(std::span(text.data(), text.size())));
}

namespace {

// A pipe or a device that stands where a file should be is refused, not waited for.
core::Result<Descriptor> openRegular(const std::filesystem::path& file, std::uint64_t& bytes) {
  Descriptor descriptor = openToRead(file);
  if (descriptor.get() < 0) {
    const core::Error error = ioError("cannot read", file);
    return errno == ENOENT ? core::Error(core::ErrorCode::kMissing, error.message()) : error;
  }
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) return ioError("cannot read", file);
  if (!S_ISREG(status.st_mode))
    return core::Error(core::ErrorCode::kDamaged, file.string() + " is not a file");
  bytes = static_cast<std::uint64_t>(status.st_size);
  return descriptor;
}

// Fewer bytes only at the end of the file.
core::Result<std::size_t> readUpTo(const Descriptor& descriptor, std::span<char> into,
                                   const std::filesystem::path& file) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::read(descriptor.get(), into.data() + done, into.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ioError("cannot read", file);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

core::Result<std::string> readFile(const std::filesystem::path& file, std::size_t limit) {
  std::uint64_t bytes = 0;
  MSDBG_ASSIGN(const Descriptor descriptor, openRegular(file, bytes));
  if (bytes > limit)
    return core::Error(core::ErrorCode::kDamaged, file.string() + " is larger than it can be");
  std::string text(bytes, '\0');
  MSDBG_ASSIGN(const std::size_t done, readUpTo(descriptor, text, file));
  text.resize(done);  // it may have become shorter: the caller sees that by the size
  return text;
}

core::Status readInPieces(const std::filesystem::path& file, std::size_t pieceBytes,
                          const std::function<bool(std::string_view)>& take) {
  std::uint64_t bytes = 0;
  MSDBG_ASSIGN(const Descriptor descriptor, openRegular(file, bytes));
  std::string piece(pieceBytes, '\0');
  while (true) {
    MSDBG_ASSIGN(const std::size_t got, readUpTo(descriptor, piece, file));
    if (got > 0 && !take(std::string_view(piece).substr(0, got))) break;
    if (got < pieceBytes) break;
  }
  return core::Ok{};
}

}  // namespace msdbg::dump
