// DiskReserve: some room on the disk that nobody else takes, `.reserve.tmp`. Values go by writing their
// statistics to another file first, which a disk that is full to its last byte refuses: then nothing could
// ever go. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>

#include "dump/descriptor.h"

namespace msdbg::dump {

class DiskReserve {
 public:
  explicit DiskReserve(const std::filesystem::path& folder) : m_path(folder / ".reserve.tmp") {}
  ~DiskReserve() { release(); }
  DiskReserve(const DiskReserve&) = delete;
  DiskReserve& operator=(const DiskReserve&) = delete;

  /// At least so many bytes from now on, if the disk has them; else what there is.
  void hold(std::uint64_t bytes);
  std::uint64_t bytes() const { return m_bytes; }
  /// Gives it back to the disk; false: there was none.
  bool release();

 private:
  std::filesystem::path m_path;
  Descriptor m_file;
  std::uint64_t m_bytes = 0;
};

}  // namespace msdbg::dump
