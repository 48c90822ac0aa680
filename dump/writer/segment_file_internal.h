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
#include "dump/writer/data_region_internal.h"
#include "dump/writer/iteration_record.h"

namespace msdbg::dump {

class SegmentFile {
 public:
  static core::Result<SegmentFile> begin(hdf5::FileImage& image, std::uint64_t dataEnd);

  core::Status writeRoot(std::int64_t segment, std::int64_t rank, std::int64_t graph);
  /// Contiguous; its bytes are hashed as one chunk. `iterations` (one a row) becomes the attribute; may be
  /// empty.
  core::Status writeColumn(const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                           std::span<const std::byte> bytes, std::span<const std::int64_t> iterations);
  /// Texts of fixed length, that of the longest one.
  core::Status writeNames(const std::string& path, std::span<const std::string> names);
  /// Chunked; `chunks` are those of the grid, in order. Those that have a place in the region are only
  /// referred to.
  core::Status writeTensor(const std::string& path, core::DType dtype, const ChunkGrid& grid,
                           std::span<const StoredChunk* const> chunks,
                           std::span<const std::int64_t> iterations, const DataRegion* region = nullptr);
  /// The recipe of a dataset that holds sources of an input.
  core::Status writeDivisor(const std::string& path, float divisor);

 private:
  explicit SegmentFile(hdf5::FileImage& image) : m_image(&image), m_file(image.id()) {}
  core::Status writeChunk(hid_t dataset, std::uint32_t mask, const hsize_t* at, const StoredChunk& chunk,
                          const DataRegion* region);
  core::Result<hdf5::Handle> create(const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                                    hid_t creation);
  core::Status writeHashes(const std::string& path, std::span<const core::Hash128> hashes);
  core::Status writeContiguous(const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                               const void* bytes, std::span<const std::int64_t> iterations);
  hdf5::FileImage* m_image;
  hid_t m_file;
  hdf5::Handle m_links, m_plain;  // property lists
};

}  // namespace msdbg::dump
