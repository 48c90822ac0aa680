// TensorDataset: one dataset below /tensor, /state or /batch: its description, checked against the graph, and
// its rows, chunk by chunk with hash and decoding (no HDF5 filter is needed). Not thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/statistics.h"
#include "dump/codec/chunk_grid.h"
#include "dump/hdf5/hdf5_internal.h"
#include "dump/reader/column_internal.h"

namespace msdbg::dump {

/// kUnsupported: whose values cannot be read, and what to do.
core::Error unsupportedDType(const core::TensorInfo& tensor);

class TensorDataset {
 public:
  /// kDamaged unless type, extents, chunks, filters, iterations and hashes are what the graph and the format
  /// say. Of a type that this msdbg does not know only read() fails, with kUnsupported.
  static core::Result<TensorDataset> open(const SegmentFileInfo& segment, const std::string& path,
                                          const core::TensorInfo& tensor);
  /// Below /batch: type and shape are the source's; the recipe is read with it.
  static core::Result<TensorDataset> openInput(const SegmentFileInfo& segment, const std::string& path,
                                               const core::TensorInfo& input);
  std::optional<float> divisor() const { return m_divisor; }  // there is one: rows are sources
  const std::vector<std::int64_t>& iterations() const { return m_iterations; }
  core::Result<core::Tensor> read(std::int64_t iteration);

  const ChunkGrid& grid() const { return m_grid; }
  bool filtered() const { return m_filtered; }
  const core::Hash128& hash(std::uint64_t chunk) const { return m_hashes[chunk]; }
  /// One row's bytes, as a tensor has them.
  core::Status readRow(std::uint64_t row, std::span<std::byte> into);
  /// A chunk as it lies in the file, after its hash was checked; gives its filter mask.
  core::Result<std::uint32_t> readStored(std::uint64_t index, std::vector<std::byte>& stored);

 private:
  TensorDataset(hdf5::Handle dataset, ChunkGrid grid)
      : m_dataset(std::move(dataset)), m_grid(std::move(grid)) {}
  core::Status checkFilters();
  core::Result<std::uint64_t> storedBytes(std::uint64_t index) const;
  core::Status checkStored(std::uint64_t row) const;
  core::Status checkHashes(std::uint64_t row);
  core::Status decode(std::uint64_t index, std::span<std::byte> chunk);

  hdf5::Handle m_dataset;
  ChunkGrid m_grid;
  core::DType m_dtype = core::DType::Float32;
  std::optional<core::Error> m_unsupported;  // why no row can be read
  std::optional<float> m_divisor;
  bool m_filtered = false;
  std::uint64_t m_fileBytes = 0;
  std::vector<std::int64_t> m_iterations;
  std::vector<core::Hash128> m_hashes;
  std::optional<std::uint64_t> m_sharedIndex;  // the chunk of several rows that was decoded last
  std::vector<std::byte> m_shared;
};

}  // namespace msdbg::dump
