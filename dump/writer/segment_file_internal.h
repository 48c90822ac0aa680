// Datasets of one segment while its file is built in memory, each with its hashes under /checksum. One
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core_engine/tensor/statistics.h"
#include "dump/codec/chunk_grid.h"
#include "dump/hdf5/hdf5_internal.h"
#include "dump/writer/iteration_record.h"

namespace msdbg::dump {

class SegmentFile {
 public:
  static core::Result<SegmentFile> begin(hdf5::FileImage& image, std::size_t expectedBytes);

  core::Status writeRoot(std::int64_t segment, std::int64_t rank, std::int64_t graph);
  /// Contiguous; its bytes are hashed as one chunk. `iterations` (one a row) becomes the attribute; may be
  /// empty.
  core::Status writeColumn(const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                           std::span<const std::byte> bytes, std::span<const std::int64_t> iterations);
  /// Chunked; `chunks` are those of the grid, in order.
  core::Status writeTensor(const std::string& path, core::DType dtype, const ChunkGrid& grid,
                           std::span<const StoredChunk* const> chunks,
                           std::span<const std::int64_t> iterations);
  /// An object of another file with everything below it, as it is.
  core::Status copyFrom(hid_t file, const std::string& path);

 private:
  explicit SegmentFile(hid_t file) : m_file(file) {}
  core::Result<hdf5::Handle> create(const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                                    hid_t creation);
  core::Status writeHashes(const std::string& path, std::span<const core::Hash128> hashes);
  core::Status writeContiguous(const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                               const void* bytes, std::span<const std::int64_t> iterations);
  hid_t m_file;
  hdf5::Handle m_links, m_plain;  // property lists
};

}  // namespace msdbg::dump
