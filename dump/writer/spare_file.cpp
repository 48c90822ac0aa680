#include "dump/writer/spare_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump/commit_file.h"

namespace msdbg::dump {

core::Status SpareFile::offer(const std::filesystem::path& file) {
  const std::lock_guard lock(m_mutex);
  Descriptor descriptor(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status = {};
  const bool wanted = !m_file.valid() && descriptor.valid() && ::fstat(descriptor.get(), &status) == 0 &&
                      S_ISREG(status.st_mode) && status.st_nlink == 1 && descriptor.lockAlone();
  if (wanted && ::rename(file.c_str(), m_path.c_str()) == 0) {
    m_file = std::move(descriptor);
    m_bytes = static_cast<std::uint64_t>(status.st_size);
    return core::Ok{};
  }
  if (::unlink(file.c_str()) != 0) return ioError("cannot remove", file);
  return core::Ok{};
}

SpareFile::Taken SpareFile::take(const std::filesystem::path& path) {
  const std::lock_guard lock(m_mutex);
  if (!m_file.valid() || !isAt(m_file.get(), m_path) || ::rename(m_path.c_str(), path.c_str()) != 0)
    return {};
  return {std::move(m_file), std::exchange(m_bytes, 0)};
}

std::uint64_t SpareFile::bytes() const {
  const std::lock_guard lock(m_mutex);
  return m_bytes;
}

void SpareFile::discard() {
  const std::lock_guard lock(m_mutex);
  if (m_file.valid() && isAt(m_file.get(), m_path)) ::unlink(m_path.c_str());
  m_file = Descriptor();
  m_bytes = 0;
}

}  // namespace msdbg::dump
