#include "dump/writer/fresh_pages.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bit>
#include <utility>

namespace msdbg::dump {
namespace {

bool growTo(int file, std::uint64_t bytes) {
  struct stat status = {};
  if (::fstat(file, &status) != 0) return false;
  return static_cast<std::uint64_t>(status.st_size) >= bytes ||
         ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

std::uint64_t pageBytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

std::optional<FreshPages> FreshPages::of(int file) {
  struct statfs status = {};
  if (::fstatfs(file, &status) != 0 || status.f_type != TMPFS_MAGIC) return std::nullopt;
  // Faults that the kernel itself runs into are not asked for: that much is allowed to everybody.
  Descriptor faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)));
  uffdio_api api = {.api = UFFD_API, .features = 0, .ioctls = 0};
  if (!faults.valid() || ::ioctl(faults.get(), UFFDIO_API, &api) != 0) return std::nullopt;
  return FreshPages(file, std::move(faults));
}

void FreshPages::Unmap::operator()(std::byte* mapped) const { ::munmap(mapped, bytes); }

bool FreshPages::open(std::uint64_t offset, std::uint64_t bytes) {
  close();
  const std::uint64_t mapped = bytes / pageBytes() * pageBytes();
  if (mapped == 0 || !growTo(m_file, offset + bytes)) return false;
  void* at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, m_file, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return false;
  m_mapped = {static_cast<std::byte*>(at), Unmap{mapped}};
  m_offset = offset;
  uffdio_register wanted = {.range = {.start = std::bit_cast<std::uint64_t>(at), .len = mapped},
                            .mode = UFFDIO_REGISTER_MODE_MISSING,
                            .ioctls = 0};
  if (::ioctl(m_faults.get(), UFFDIO_REGISTER, &wanted) == 0) return true;
  close();
  return false;
}

bool FreshPages::put(std::uint64_t offset, std::span<const std::byte> bytes) const {
  const std::size_t mapped = m_mapped.get_deleter().bytes;
  if (!m_mapped || offset < m_offset || bytes.size() > mapped || offset - m_offset > mapped - bytes.size())
    return false;
  uffdio_copy copy = {.dst = std::bit_cast<std::uint64_t>(m_mapped.get() + (offset - m_offset)),
                      .src = std::bit_cast<std::uint64_t>(bytes.data()),
                      .len = bytes.size(),
                      .mode = UFFDIO_COPY_MODE_DONTWAKE,
                      .copy = 0};
  return ::ioctl(m_faults.get(), UFFDIO_COPY, &copy) == 0;
}

}  // namespace msdbg::dump
