// Column: a contiguous dataset of a segment, read in pieces. Opening it streams through all of its bytes and
// compares their hash; the hashes of the 64 KiB blocks are kept (1/4096 of the size), and what is read later
// is compared with those. So every byte handed out was checked, and none is held. Lives no longer than the
// file's descriptor; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core_engine/tensor/statistics.h"
#include "dump/hdf5/hdf5_internal.h"

namespace msdbg::dump {

/// An open segment file, as its datasets need it.
struct SegmentFileInfo {
  hid_t file;
  std::uint64_t fileBytes;
  std::span<const std::int64_t> iterations;  // of the segment
  int descriptor = -1;                       // of the same file; who reads no columns needs none
};

class Column {
 public:
  /// kDamaged unless the dataset has the elements [dims] of this type, and the hash below /checksum.
  static core::Result<Column> open(const SegmentFileInfo& segment, const std::string& path, hid_t type,
                                   std::span<const hsize_t> dims);
  std::uint64_t bytes() const { return m_bytes; }
  /// The bytes from a border of blocks on. kDamaged: they are not those that were there at first.
  core::Status read(std::uint64_t first, std::span<std::byte> into) const;

 private:
  core::Status readBlocks(std::uint64_t first, std::span<std::byte> into,
                          std::vector<core::Hash128>& hashes) const;

  int m_descriptor = -1;
  std::uint64_t m_address = 0, m_bytes = 0;
  std::vector<core::Hash128> m_blocks;
};

/// How many elements a 1-dimensional dataset has; its content is checked when it is read.
core::Result<hsize_t> lengthOf(hid_t file, const std::string& path);
/// All bytes of a small one.
core::Result<std::vector<std::byte>> readColumn(const SegmentFileInfo& segment, const std::string& path,
                                                hid_t type, std::span<const hsize_t> dims);

}  // namespace msdbg::dump
