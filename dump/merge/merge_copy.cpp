#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "dump/commit_file.h"
#include "dump/merge/merge_copy_internal.h"

namespace msdbg::dump {
namespace {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Status;

constexpr std::size_t kPiece = 4u << 20;

class File {
 public:
  File(const std::filesystem::path& path, int flags) : m_descriptor(::open(path.c_str(), flags, 0666)) {}
  ~File() {
    if (m_descriptor >= 0) ::close(m_descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return m_descriptor; }

 private:
  int m_descriptor;
};

bool writeAll(int descriptor, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

Status copy(const std::filesystem::path& from, const std::filesystem::path& to,
            const core::CancelToken& cancel, const std::function<void(std::uint64_t)>& advanced) {
  const File in(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
  if (in.get() < 0) return ioError("cannot read", from);
  if (out.get() < 0) return ioError("cannot create", to);
  std::vector<char> piece(kPiece);
  while (true) {
    if (cancel.cancelled()) return Error(ErrorCode::kCancelled, "cancelled");
    const ssize_t got = ::read(in.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ioError("cannot read", from);
    if (got == 0) break;
    if (!writeAll(out.get(), piece.data(), static_cast<std::size_t>(got))) return ioError("cannot write", to);
    advanced(static_cast<std::uint64_t>(got));
  }
  if (::fsync(out.get()) != 0) return ioError("cannot write", to);
  return Ok{};
}

}  // namespace

Status placeFile(const std::filesystem::path& from, const std::filesystem::path& to, Linking linking,
                 const core::CancelToken& cancel, const std::function<void(std::uint64_t)>& advanced) {
  if (linking == Linking::kNever) return copy(from, to, cancel, advanced);
  if (::link(from.c_str(), to.c_str()) == 0) {
    std::error_code ignored;
    advanced(std::filesystem::file_size(to, ignored));
    return Ok{};
  }
  if (linking == Linking::kWherePossible) return copy(from, to, cancel, advanced);
  const Error why = ioError("cannot link", from);
  return Error(ErrorCode::kUsage, why.message() + "; without --link it is copied");
}

}  // namespace msdbg::dump
