// The chunks of one tensor's dataset when the rows of several segments follow each other. Internal to
// merging; one thread.
#pragma once

#include <string>
#include <vector>

#include "dump/codec/codec.h"
#include "dump/writer/iteration_record.h"
#include "dump/writer/merge_source_internal.h"

namespace msdbg::dump {

/// A dataset in one of the segments.
struct DatasetPart {
  const MergeSource* source = nullptr;
  hdf5::Handle dataset;
  RawAttributes attributes;
  std::vector<std::int64_t> iterations;  // of the attribute; empty when there is none. Of the rows taken:
  std::vector<std::size_t> rows;         // ascending

  static core::Result<DatasetPart> open(const MergeSource& source, const std::string& path);
};

struct MergedTensor {
  core::DType dtype;
  ChunkGrid grid;
  std::vector<StoredChunk> chunks;
  std::vector<std::int64_t> iterations;

  std::vector<const StoredChunk*> chunkList() const;
  std::uint64_t storedBytes() const;
};

class MergeTensors {
 public:
  /// kUnsupported: shape or type changed, or a layout that the writer does not make.
  core::Result<MergedTensor> merge(const std::string& path, const std::vector<DatasetPart>& parts);

 private:
  using Rows = std::vector<std::size_t>;
  core::Status copy(TensorDataset& dataset, const Rows& rows, MergedTensor& merged);
  core::Status gather(TensorDataset& dataset, const Rows& rows, bool compressed, MergedTensor& merged);
  StoredChunk encode(std::vector<std::byte>& rows, const MergedTensor& merged, bool compressed);

  Compressor m_compressor;
  std::vector<std::byte> m_rows;  // gathered, of the next chunk
};

}  // namespace msdbg::dump
