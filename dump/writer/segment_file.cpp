#include <algorithm>

#include "dump/codec/codec.h"
#include "dump/hdf5/zstd_filter.h"
#include "dump/run_info.h"
#include "dump/writer/segment_file_internal.h"

namespace msdbg::dump {
namespace {

using hdf5::Handle;
using hdf5::owned;

core::Result<Handle> datasetProperties() {
  MSDBG_ASSIGN(Handle list, owned(MSDBG_H5(H5Pcreate, H5P_DATASET_CREATE), H5Pclose));
  MSDBG_TRY(MSDBG_H5(H5Pset_obj_track_times, list.id(), false));
  MSDBG_TRY(MSDBG_H5(H5Pset_fill_time, list.id(), H5D_FILL_TIME_NEVER));
  return list;
}

core::Result<Handle> chunkProperties(const ChunkGrid& grid, bool filtered) {
  MSDBG_ASSIGN(Handle list, datasetProperties());
  const std::vector<hsize_t> chunk(grid.chunk().begin(), grid.chunk().end());
  MSDBG_TRY(MSDBG_H5(H5Pset_chunk, list.id(), static_cast<int>(chunk.size()), chunk.data()));
  if (!filtered) return list;
  const unsigned level = Compressor::kLevel;
  MSDBG_TRY(MSDBG_H5(H5Pset_shuffle, list.id()));
  MSDBG_TRY(MSDBG_H5(H5Pset_filter, list.id(), hdf5::kZstdFilter, H5Z_FLAG_OPTIONAL, 1, &level));
  return list;
}

}  // namespace

core::Result<SegmentFile> SegmentFile::begin(hdf5::FileImage& image, std::uint64_t dataEnd) {
  MSDBG_TRY(image.create(dataEnd));
  SegmentFile file(image);
  MSDBG_ASSIGN(file.m_links, owned(MSDBG_H5(H5Pcreate, H5P_LINK_CREATE), H5Pclose));
  MSDBG_TRY(MSDBG_H5(H5Pset_create_intermediate_group, file.m_links.id(), 1));
  MSDBG_TRY(MSDBG_H5(H5Pset_char_encoding, file.m_links.id(), H5T_CSET_UTF8));
  MSDBG_ASSIGN(file.m_plain, datasetProperties());
  return file;
}

core::Status SegmentFile::writeRoot(std::int64_t segment, std::int64_t rank, std::int64_t graph) {
  const std::int64_t version[] = {kFormatMajor, kFormatMinor};
  MSDBG_TRY(hdf5::writeText(m_file, "format", "msdbg segment"));
  MSDBG_TRY(hdf5::writeIntegers(m_file, "version", version));
  MSDBG_TRY(hdf5::writeIntegers(m_file, "segment", {&segment, 1}));
  MSDBG_TRY(hdf5::writeIntegers(m_file, "rank", {&rank, 1}));
  return hdf5::writeIntegers(m_file, "graph", {&graph, 1});
}

core::Result<Handle> SegmentFile::create(const std::string& path, hid_t type,
                                         const std::vector<hsize_t>& dims, hid_t creation) {
  MSDBG_ASSIGN(
      const Handle space,
      owned(MSDBG_H5(H5Screate_simple, static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose));
  return owned(
      MSDBG_H5(H5Dcreate2, m_file, path.c_str(), type, space.id(), m_links.id(), creation, H5P_DEFAULT),
      H5Dclose);
}

core::Status SegmentFile::writeContiguous(const std::string& path, hid_t type,
                                          const std::vector<hsize_t>& dims, const void* bytes,
                                          std::span<const std::int64_t> iterations) {
  MSDBG_ASSIGN(const Handle dataset, create(path, type, dims, m_plain.id()));
  if (!iterations.empty()) MSDBG_TRY(hdf5::writeIntegers(dataset.id(), "iterations", iterations));
  MSDBG_TRY(MSDBG_H5(H5Dwrite, dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes));
  return core::Ok{};
}

core::Status SegmentFile::writeHashes(const std::string& path, std::span<const core::Hash128> hashes) {
  static_assert(sizeof(core::Hash128) == 2 * sizeof(std::uint64_t));
  return writeContiguous("/checksum" + path, H5T_STD_U64LE, {hashes.size(), 2}, hashes.data(), {});
}

core::Status SegmentFile::writeColumn(const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                                      std::span<const std::byte> bytes,
                                      std::span<const std::int64_t> iterations) {
  MSDBG_TRY(writeContiguous(path, type, dims, bytes.data(), iterations));
  const core::Hash128 hash = core::hashBytes(bytes);
  return writeHashes(path, {&hash, 1});
}

core::Status SegmentFile::writeNames(const std::string& path, std::span<const std::string> names) {
  std::size_t width = 1;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::vector<char> texts(width * names.size(), '\0');
  for (std::size_t i = 0; i < names.size(); ++i) names[i].copy(&texts[i * width], width);
  MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Tcopy, H5T_C_S1), H5Tclose));
  MSDBG_TRY(MSDBG_H5(H5Tset_size, type.id(), width));
  MSDBG_TRY(MSDBG_H5(H5Tset_strpad, type.id(), H5T_STR_NULLPAD));
  MSDBG_TRY(MSDBG_H5(H5Tset_cset, type.id(), H5T_CSET_UTF8));
  return writeColumn(path, type.id(), {names.size()}, std::as_bytes(std::span(texts)), {});
}

core::Status SegmentFile::writeChunk(hid_t dataset, std::uint32_t mask, const hsize_t* at,
                                     const StoredChunk& chunk, const DataRegion* region) {
  const std::optional<std::uint64_t> place = region ? region->placeOf(chunk) : std::nullopt;
  if (place) m_image->placeNext(*place, chunk.size);
  // HDF5 wants an address even of bytes that it will not see.
  const void* bytes = place ? &chunk : static_cast<const void*>(chunk.bytes.data());
  MSDBG_TRY(MSDBG_H5(H5Dwrite_chunk, dataset, H5P_DEFAULT, mask, at, chunk.size, bytes));
  if (place && !m_image->placed())
    return core::Error(core::ErrorCode::kInternal, "HDF5 asked for no room for a chunk");
  return core::Ok{};
}

core::Status SegmentFile::writeTensor(const std::string& path, core::DType dtype, const ChunkGrid& grid,
                                      std::span<const StoredChunk* const> chunks,
                                      std::span<const std::int64_t> iterations, const DataRegion* region) {
  bool filtered = false;
  for (const StoredChunk* chunk : chunks) filtered = filtered || chunk->filterMask != kRawMask;
  MSDBG_ASSIGN(const Handle properties, chunkProperties(grid, filtered));
  const std::vector<hsize_t> dims(grid.extents().begin(), grid.extents().end());
  MSDBG_ASSIGN(const Handle dataset, create(path, hdf5::fileType(dtype), dims, properties.id()));
  MSDBG_TRY(hdf5::writeIntegers(dataset.id(), "iterations", iterations));
  if (hdf5::isNamedInFile(dtype))
    MSDBG_TRY(hdf5::writeText(dataset.id(), hdf5::kDTypeAttribute, std::string(core::dtypeName(dtype))));
  std::vector<core::Hash128> hashes;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const StoredChunk& chunk = *chunks[i];
    const auto offset = grid.piece(i).offset;
    const std::vector<hsize_t> at(offset.begin(), offset.end());
    MSDBG_TRY(writeChunk(dataset.id(), filtered ? chunk.filterMask : 0, at.data(), chunk, region));
    hashes.push_back(chunk.hash);
  }
  return writeHashes(path, hashes);
}

core::Status SegmentFile::writeDivisor(const std::string& path, float divisor) {
  MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(m_file, path));
  return hdf5::writeFloat(dataset.id(), "divisor", divisor);
}

}  // namespace msdbg::dump
