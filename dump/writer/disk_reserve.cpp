#include "dump/writer/disk_reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include "dump/commit_file.h"

namespace msdbg::dump {

void DiskReserve::hold(std::uint64_t bytes) {
  if (bytes <= m_bytes) return;
  if (!m_file.valid())
    m_file = Descriptor(::open(m_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!m_file.valid()) return;
  if (::posix_fallocate(m_file.get(), 0, static_cast<off_t>(bytes)) == 0) m_bytes = bytes;
  if (m_bytes == 0) release();
}

bool DiskReserve::release() {
  const bool held = m_bytes > 0;
  if (m_file.valid() && isAt(m_file.get(), m_path)) ::unlink(m_path.c_str());
  m_file = Descriptor();
  m_bytes = 0;
  return held;
}

}  // namespace msdbg::dump
