#include "dump/descriptor.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace msdbg::dump {

Descriptor::~Descriptor() {
  if (m_value >= 0) ::close(m_value);
}

bool Descriptor::lockToRead() const {
  return ::flock(m_value, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}
bool Descriptor::lockAlone() const { return ::flock(m_value, LOCK_EX | LOCK_NB) == 0; }
void Descriptor::unlock() const { ::flock(m_value, LOCK_UN); }

bool isAt(int descriptor, const std::filesystem::path& path) {
  struct stat mine = {}, there = {};
  return ::fstat(descriptor, &mine) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

// A pipe or a device that stands where a file should be is opened without waiting.
Descriptor openToRead(const std::filesystem::path& file) {
  Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.valid() || descriptor.lockToRead()) return descriptor;
  errno = ENOENT;  // its segment is gone
  return Descriptor();
}

}  // namespace msdbg::dump
