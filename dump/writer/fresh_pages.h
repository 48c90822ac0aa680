// FreshPages: lets several threads at once fill new pages of a file that lies in memory (tmpfs). write() does
// not: the kernel admits one writer to a file at a time, and taking pages is what costs there
// (dump/PERFORMANCE.md). The pages come through a mapping and userfaultfd(2), which copies into them without
// that lock; nobody touches the mapping, so a file that is cut or a memory that is full is an answer and
// never a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dump/descriptor.h"

namespace msdbg::dump {

class FreshPages {
 public:
  /// nullopt: the file does not lie in memory, or the kernel has no such thing or denies it to this process.
  static std::optional<FreshPages> of(int file);

  /// From here on put() may fill [offset, offset + bytes) of the file, which becomes at least so long; the
  /// offset is a multiple of 64 KiB. Until close(). False: it may not.
  bool open(std::uint64_t offset, std::uint64_t bytes);
  void close() { m_mapped.reset(); }
  /// Whether all of it is there now. Any threads at once, each other bytes. False where a page was there
  /// before, where memory is used up, and where the bytes do not begin and end with a page: then write()
  /// them.
  bool put(std::uint64_t offset, std::span<const std::byte> bytes) const;

 private:
  FreshPages(int file, Descriptor faults) : m_file(file), m_faults(std::move(faults)) {}

  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* mapped) const;
  };
  int m_file;
  Descriptor m_faults;
  std::unique_ptr<std::byte, Unmap> m_mapped;
  std::uint64_t m_offset = 0;  // of what is mapped, in the file
};

}  // namespace msdbg::dump
