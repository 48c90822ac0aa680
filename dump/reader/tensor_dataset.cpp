#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core_engine/base/text.h"
#include "dump/codec/codec.h"
#include "dump/hdf5/zstd_filter.h"
#include "dump/reader/tensor_dataset_internal.h"

namespace msdbg::dump {
namespace {

using hdf5::Handle;
using hdf5::owned;

constexpr std::uint64_t kLargestUnknownRow = 4ull << 30;  // where the graph does not know the shape

core::Error damaged(const std::string& what) { return {core::ErrorCode::kDamaged, what}; }

bool fits(std::span<const hsize_t> dims, const core::Shape& shape) {
  if (dims.size() != shape.rank()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (shape[i] >= 0 && dims[i] != static_cast<std::uint64_t>(shape[i])) return false;
  }
  return true;
}

std::string shapeText(std::span<const hsize_t> dims) {
  return core::Shape(std::vector<std::int64_t>(dims.begin(), dims.end())).text();
}

core::Result<ChunkGrid> readGrid(hid_t dataset, const core::TensorInfo& tensor, std::size_t mostRows,
                                 std::size_t elementBytes) {
  MSDBG_ASSIGN(const std::vector<hsize_t> dims, hdf5::extents(dataset));
  if (dims.empty() || dims[0] > mostRows || !fits(std::span(dims).subspan(1), tensor.shape)) {
    return damaged("extents " + shapeText(dims) + " do not fit the graph's shape " + tensor.shape.text());
  }
  MSDBG_ASSIGN(const Handle list, owned(MSDBG_H5(H5Dget_create_plist, dataset), H5Pclose));
  MSDBG_ASSIGN(const H5D_layout_t layout, MSDBG_H5(H5Pget_layout, list.id()));
  if (layout != H5D_CHUNKED) return damaged("not stored in chunks");
  std::vector<hsize_t> chunk(dims.size());
  MSDBG_TRY(MSDBG_H5(H5Pget_chunk, list.id(), static_cast<int>(chunk.size()), chunk.data()));
  MSDBG_ASSIGN(ChunkGrid grid,
               ChunkGrid::of({dims.begin(), dims.end()}, {chunk.begin(), chunk.end()}, elementBytes));
  if (!tensor.shape.known() && grid.rowBytes() > kLargestUnknownRow)
    return damaged("a row of more than 4 GiB");
  return grid;
}

core::Result<std::vector<core::Hash128>> readHashes(const SegmentFileInfo& segment, const std::string& path,
                                                    std::uint64_t count) {
  std::vector<core::Hash128> hashes;
  if (count > segment.fileBytes / sizeof(core::Hash128)) return damaged("more chunks than the file can hold");
  hashes.resize(count);
  MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(segment.file, "/checksum" + path));
  MSDBG_TRY(hdf5::readAll(dataset.id(), H5T_STD_U64LE, std::as_writable_bytes(std::span(hashes))));
  return hashes;
}

/// nullopt: the elements are what the graph says. kDamaged: they are of another dtype.
core::Result<std::optional<core::Error>> whyUnsupported(hid_t dataset, hid_t type,
                                                        const core::TensorInfo& tensor) {
  using Why = std::optional<core::Error>;
  if (tensor.dtype == core::DType::Unsupported) return Why(unsupportedDType(tensor));
  MSDBG_ASSIGN(const htri_t same, MSDBG_H5(H5Tequal, type, hdf5::fileType(tensor.dtype)));
  if (same > 0) return Why();
  const std::string name(core::dtypeName(tensor.dtype));
  MSDBG_ASSIGN(const std::optional<core::DType> stored, hdf5::storedDType(dataset));
  if (stored) return damaged("stored as " + std::string(core::dtypeName(*stored)) + ", not as " + name);
  return Why({core::ErrorCode::kUnsupported,
              "stored as " + name + " in a way that this msdbg does not know; update msdbg"});
}

}  // namespace

core::Error unsupportedDType(const core::TensorInfo& tensor) {
  return {core::ErrorCode::kUnsupported,
          tensor.fullName() + " has a dtype that this msdbg does not know (number " +
              std::to_string(tensor.dtypeNumber) +
              " in the graph): a newer one recorded it; update msdbg to see its "
              "values"};
}

core::Result<TensorDataset> TensorDataset::open(const SegmentFileInfo& segment, const std::string& path,
                                                const core::TensorInfo& tensor) {
  MSDBG_ASSIGN(Handle handle, hdf5::openDataset(segment.file, path));
  MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Dget_type, handle.id()), H5Tclose));
  MSDBG_ASSIGN(std::optional<core::Error> unsupported, whyUnsupported(handle.id(), type.id(), tensor));
  const std::size_t elementBytes = unsupported ? hdf5::typeSize(type.id()) : core::dtypeSize(tensor.dtype);
  MSDBG_ASSIGN(ChunkGrid grid, readGrid(handle.id(), tensor, segment.iterations.size(), elementBytes));
  TensorDataset dataset(std::move(handle), std::move(grid));
  dataset.m_dtype = tensor.dtype;
  dataset.m_unsupported = std::move(unsupported);
  dataset.m_fileBytes = segment.fileBytes;
  MSDBG_TRY(dataset.checkFilters());
  MSDBG_ASSIGN(dataset.m_iterations,
               hdf5::readIntegers(dataset.m_dataset.id(), "iterations", segment.iterations.size()));
  const auto& rows = dataset.m_iterations;
  if (rows.size() != dataset.m_grid.extents()[0] || !std::is_sorted(rows.begin(), rows.end()) ||
      !std::includes(segment.iterations.begin(), segment.iterations.end(), rows.begin(), rows.end())) {
    return damaged("its iterations are not those of the segment");
  }
  MSDBG_ASSIGN(dataset.m_hashes, readHashes(segment, path, dataset.m_grid.count()));
  return dataset;
}

core::Result<TensorDataset> TensorDataset::openInput(const SegmentFileInfo& segment, const std::string& path,
                                                     const core::TensorInfo& input) {
  MSDBG_ASSIGN(const Handle handle, hdf5::openDataset(segment.file, path));
  MSDBG_ASSIGN(const htri_t made, MSDBG_H5(H5Aexists, handle.id(), "divisor"));
  if (made == 0) return open(segment, path, input);
  MSDBG_ASSIGN(const std::vector<hsize_t> dims, hdf5::extents(handle.id()));
  MSDBG_ASSIGN(const std::optional<core::DType> stored, hdf5::storedDType(handle.id()));
  core::TensorInfo source = input;
  source.shape = core::Shape(std::vector<std::int64_t>(dims.empty() ? 0 : dims.size() - 1, -1));
  if (stored) source.dtype = *stored;
  MSDBG_ASSIGN(TensorDataset dataset, open(segment, path, source));
  MSDBG_ASSIGN(dataset.m_divisor, hdf5::readFloat(handle.id(), "divisor"));
  return dataset;
}

core::Status TensorDataset::checkFilters() {
  MSDBG_ASSIGN(const Handle list, owned(MSDBG_H5(H5Dget_create_plist, m_dataset.id()), H5Pclose));
  MSDBG_ASSIGN(const int count, MSDBG_H5(H5Pget_nfilters, list.id()));
  m_filtered = count > 0;
  if (count == 0) return core::Ok{};
  constexpr H5Z_filter_t kExpected[] = {H5Z_FILTER_SHUFFLE, hdf5::kZstdFilter};
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    MSDBG_ASSIGN(const H5Z_filter_t filter, MSDBG_H5(H5Pget_filter2, list.id(), i, &flags, &values, nullptr,
                                                     std::size_t{0}, nullptr, nullptr));
    if (count != 2 || filter != kExpected[i]) {
      return core::Error(core::ErrorCode::kUnsupported, "filtered in a way that this msdbg does not read");
    }
  }
  return core::Ok{};
}

core::Result<std::uint64_t> TensorDataset::storedBytes(std::uint64_t index) const {
  const auto offset = m_grid.piece(index).offset;
  const std::vector<hsize_t> at(offset.begin(), offset.end());
  hsize_t size = 0;
  MSDBG_TRY(MSDBG_H5(H5Dget_chunk_storage_size, m_dataset.id(), at.data(), &size));
  if (size == 0 || size > m_fileBytes || size > 2 * kLargestChunk)
    return damaged("chunk " + std::to_string(index) + " has an impossible size");
  return size;
}

// Before memory is taken for the row: all its chunks are there (they may share their bytes, so that their sum
// says nothing), and the machine has so much memory at all.
core::Status TensorDataset::checkStored(std::uint64_t row) const {
  const auto [first, last] = m_grid.chunksOfRow(row);
  for (std::uint64_t index = first; index < last; ++index) MSDBG_TRY(storedBytes(index));
  const auto memory =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (m_grid.rowBytes() <= memory) return core::Ok{};
  return core::Error(core::ErrorCode::kIo, "not enough memory for " + core::formatBytes(m_grid.rowBytes()));
}

core::Result<std::uint32_t> TensorDataset::readStored(std::uint64_t index, std::vector<std::byte>& stored) {
  const auto offset = m_grid.piece(index).offset;
  const std::vector<hsize_t> at(offset.begin(), offset.end());
  MSDBG_ASSIGN(const std::uint64_t size, storedBytes(index));
  stored.resize(size);
  std::uint32_t mask = 0;
  MSDBG_TRY(MSDBG_H5(H5Dread_chunk, m_dataset.id(), H5P_DEFAULT, at.data(), &mask, stored.data()));
  if (core::hashBytes(stored) != m_hashes[index])
    return damaged("chunk " + std::to_string(index) + " does not match its hash");
  return mask;
}

core::Status TensorDataset::checkHashes(std::uint64_t row) {
  std::vector<std::byte> stored;
  const auto [first, last] = m_grid.chunksOfRow(row);
  for (std::uint64_t index = first; index < last; ++index) {
    const auto mask = readStored(index, stored);
    if (!mask.ok()) return mask.error();
  }
  return core::Ok{};
}

core::Status TensorDataset::decode(std::uint64_t index, std::span<std::byte> chunk) {
  std::vector<std::byte> stored;
  MSDBG_ASSIGN(const std::uint32_t mask, readStored(index, stored));
  const core::Status status = decodeChunk(stored, m_filtered && !(mask & 1), m_filtered && !(mask & 2),
                                          core::dtypeSize(m_dtype), chunk);
  return status.ok() ? status : status.error().in("chunk " + std::to_string(index));
}

core::Status TensorDataset::readRow(std::uint64_t row, std::span<std::byte> into) {
  const auto [first, last] = m_grid.chunksOfRow(row);
  if (m_grid.rowsPerChunk() > 1) {
    if (m_sharedIndex != first) {
      m_sharedIndex.reset();
      m_shared.resize(m_grid.chunkBytes());
      MSDBG_TRY(decode(first, m_shared));
      m_sharedIndex = first;
    }
    std::memcpy(into.data(), &m_shared[row % m_grid.rowsPerChunk() * m_grid.rowBytes()], into.size());
    return core::Ok{};
  }
  std::vector<std::byte> filledUp;
  for (std::uint64_t index = first; index < last; ++index) {
    const ChunkGrid::Piece piece = m_grid.piece(index);
    const auto target = into.subspan(piece.firstByte - row * m_grid.rowBytes(), piece.bytes);
    const bool whole = piece.bytes == m_grid.chunkBytes();
    filledUp.resize(whole ? 0 : m_grid.chunkBytes());
    MSDBG_TRY(decode(index, whole ? target : std::span<std::byte>(filledUp)));
    if (!whole) std::memcpy(target.data(), filledUp.data(), target.size());
  }
  return core::Ok{};
}

core::Result<core::Tensor> TensorDataset::read(std::int64_t iteration) {
  const auto at = std::lower_bound(m_iterations.begin(), m_iterations.end(), iteration);
  if (at == m_iterations.end() || *at != iteration)
    return core::Error(core::ErrorCode::kUnavailable, "not stored");
  const auto row = static_cast<std::uint64_t>(at - m_iterations.begin());
  MSDBG_TRY(checkStored(row));
  if (m_unsupported) {
    MSDBG_TRY(checkHashes(row));  // what its bytes mean is not known, but they are those that were recorded
    return *m_unsupported;
  }
  const auto& extents = m_grid.extents();
  core::Tensor tensor;
  try {
    tensor =
        core::Tensor(m_dtype, core::Shape(std::vector<std::int64_t>(extents.begin() + 1, extents.end())));
  } catch (const core::OutOfMemory&) {
    return core::Error(core::ErrorCode::kIo, "not enough memory for " + core::formatBytes(m_grid.rowBytes()));
  }
  MSDBG_TRY(readRow(row, tensor.byteSpan()));
  return tensor;
}

}  // namespace msdbg::dump
