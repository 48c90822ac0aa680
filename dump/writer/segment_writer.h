// SegmentWriter: turns finished iterations into one HDF5 file (dump/FORMAT.md "A segment"). It knows no
// folders and no threads: the caller commits the image. Used by one thread; its memory is reused.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/base/result.h"
#include "dump/writer/iteration_record.h"
#include "dump/writer/segment_image.h"

namespace msdbg::dump {

class SegmentWriter {
 public:
  explicit SegmentWriter(int rank);
  ~SegmentWriter();
  /// Of what follows: whether chunks are compressed where that pays, and who counts the time (may be null).
  void configure(bool compress, StageClock* clock);

  /// Whether a row of this size has chunks of its own, so that it can be encoded before its segment is
  /// complete.
  static bool ownChunks(std::uint64_t rowBytes);
  /// Bytes of smaller rows that share a chunk, of a dataset below this path (ChunkGrid::plan): checkpoints
  /// share none.
  static std::uint64_t sharedChunk(std::string_view path);
  /// Cuts and compresses such a row; its copy is released when all chunks were compressed.
  void encode(RowKey key, TensorRow& row);

  /// Valid until the next call.
  using Image = SegmentImage;
  /// All iterations have one graph version and, per tensor, one shape. `values` false: /tensor, /state
  /// and /batch are left out.
  core::Result<Image> build(std::int64_t segment, std::span<const IterationRecord* const> iterations,
                            bool values);

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
