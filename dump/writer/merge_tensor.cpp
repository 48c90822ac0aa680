#include <algorithm>

#include "core_engine/tensor/statistics.h"
#include "dump/writer/merge_tensor_internal.h"
#include "dump/writer/segment_writer.h"

namespace msdbg::dump {
namespace {

core::Error unsupported(const std::string& what) { return {core::ErrorCode::kUnsupported, what}; }

core::Result<TensorDataset> openPart(const DatasetPart& part, const std::string& path, core::DType dtype) {
  MSDBG_ASSIGN(const std::vector<hsize_t> dims, hdf5::extents(part.dataset.id()));
  if (dims.empty() || part.iterations.empty()) return unsupported("has no iterations");
  core::TensorInfo info;
  info.dtype = dtype;
  info.shape = core::Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()));
  return TensorDataset::open(part.source->info(), path, info);
}

// How the rows of all parts are cut: as they are where each has chunks of its own, else as the writer would.
core::Result<ChunkGrid> mergedGrid(const std::vector<TensorDataset>& datasets, std::uint64_t rows,
                                   core::DType dtype, std::uint64_t shared) {
  const ChunkGrid& first = datasets[0].grid();
  std::vector<std::uint64_t> extents = first.extents();
  extents[0] = rows;
  if (!SegmentWriter::ownChunks(first.rowBytes()))
    return ChunkGrid::plan(extents, core::dtypeSize(dtype), kLargestChunk, shared);
  for (const TensorDataset& dataset : datasets)
    if (dataset.grid().chunk() != first.chunk()) return unsupported("its chunks changed");
  return ChunkGrid::of(extents, first.chunk(), core::dtypeSize(dtype));
}

core::Result<StoredChunk> storedChunk(TensorDataset& dataset, std::uint64_t index) {
  StoredChunk chunk;
  MSDBG_ASSIGN(const std::uint32_t mask, dataset.readStored(index, chunk.own));
  chunk.filterMask = dataset.filtered() ? mask : kRawMask;
  chunk.hash = dataset.hash(index);
  return chunk;
}

}  // namespace

core::Result<DatasetPart> DatasetPart::open(const MergeSource& source, const std::string& path) {
  DatasetPart part;
  part.source = &source;
  MSDBG_ASSIGN(part.dataset, hdf5::openDataset(source.file.id(), path));
  MSDBG_ASSIGN(part.attributes, readAttributes(part.dataset.id()));
  if (part.attributes.contains("iterations")) {
    MSDBG_ASSIGN(part.iterations,
                 hdf5::readIntegers(part.dataset.id(), "iterations", source.line.iterations.size()));
  }
  return part;
}

std::vector<const StoredChunk*> MergedTensor::chunkList() const {
  std::vector<const StoredChunk*> list;
  for (const StoredChunk& chunk : chunks) list.push_back(&chunk);
  return list;
}

std::uint64_t MergedTensor::storedBytes() const {
  std::uint64_t bytes = 0;
  for (const StoredChunk& chunk : chunks) bytes += chunk.bytes.size();
  return bytes;
}

core::Result<MergedTensor> MergeTensors::merge(const std::string& path,
                                               const std::vector<DatasetPart>& parts) {
  MSDBG_ASSIGN(const core::DType dtype, elementType(parts[0].dataset.id()));
  std::vector<TensorDataset> datasets;
  std::vector<std::int64_t> iterations;
  for (const DatasetPart& part : parts) {
    MSDBG_ASSIGN(TensorDataset dataset, openPart(part, path, dtype));
    datasets.push_back(std::move(dataset));
    iterations.insert(iterations.end(), part.iterations.begin(), part.iterations.end());
  }
  const auto shape = [](const TensorDataset& dataset) {
    return std::span(dataset.grid().extents()).subspan(1);
  };
  for (const TensorDataset& dataset : datasets)
    if (!std::ranges::equal(shape(dataset), shape(datasets[0]))) return unsupported("its shape changed");
  MSDBG_ASSIGN(ChunkGrid grid,
               mergedGrid(datasets, iterations.size(), dtype, SegmentWriter::sharedChunk(path)));
  MergedTensor merged{dtype, std::move(grid), {}, std::move(iterations)};
  m_rows.clear();
  const auto isCopied = [&](const TensorDataset& dataset) {
    return merged.grid.rowsPerChunk() == 1 && dataset.grid().rowsPerChunk() == 1;
  };
  const bool compressed = std::ranges::any_of(datasets, &TensorDataset::filtered);
  for (std::size_t i = 0; i < parts.size(); ++i)
    MSDBG_TRY(isCopied(datasets[i]) ? copy(datasets[i], parts[i].rows, merged)
                                    : gather(datasets[i], parts[i].rows, compressed, merged));
  if (!m_rows.empty()) merged.chunks.push_back(encode(m_rows, merged, compressed));
  for (StoredChunk& chunk : merged.chunks) {
    chunk.bytes = chunk.own;
    chunk.size = chunk.own.size();
  }
  return merged;
}

core::Status MergeTensors::copy(TensorDataset& dataset, const Rows& rows, MergedTensor& merged) {
  for (const std::size_t row : rows) {
    const auto [first, last] = dataset.grid().chunksOfRow(row);
    for (std::uint64_t i = first; i < last; ++i) {
      MSDBG_ASSIGN(StoredChunk chunk, storedChunk(dataset, i));
      merged.chunks.push_back(std::move(chunk));
    }
  }
  return core::Ok{};
}

// Small rows: the chunks of a segment hold few of them.
core::Status MergeTensors::gather(TensorDataset& dataset, const Rows& rows, bool compressed,
                                  MergedTensor& merged) {
  const std::size_t rowBytes = merged.grid.rowBytes();
  for (const std::size_t row : rows) {
    m_rows.resize(m_rows.size() + rowBytes);
    MSDBG_TRY(dataset.readRow(row, std::span(m_rows).last(rowBytes)));
    if (m_rows.size() == merged.grid.chunkBytes())
      merged.chunks.push_back(encode(m_rows, merged, compressed));
  }
  return core::Ok{};
}

StoredChunk MergeTensors::encode(std::vector<std::byte>& rows, const MergedTensor& merged, bool compressed) {
  StoredChunk chunk;
  rows.resize(merged.grid.chunkBytes());  // the last chunk is filled up with zeros
  const bool smaller = compressed && m_compressor.compress(rows, chunk.own);
  if (!smaller) chunk.own = rows;
  chunk.filterMask = smaller ? Compressor::kFilterMask : kRawMask;
  chunk.hash = core::hashBytes(chunk.own);
  rows.clear();
  return chunk;
}

}  // namespace msdbg::dump
