// How the rows of a tensor are cut into chunks of at most 16 MiB. Pure arithmetic, the same for writer and
// reader. Small rows share a chunk; a large row is cut along its outermost dimensions so that every chunk is
// one contiguous piece of the row-major row (chunks at the end of a dimension are shorter and filled up with
// zeros).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::dump {

inline constexpr std::uint64_t kLargestChunk = 16u << 20;
/// Of tensors that are compressed: several threads can work on one of a megabyte.
inline constexpr std::uint64_t kCompressedChunk = 1u << 19;
inline constexpr std::uint64_t kSharedChunk = 256u
                                              << 10;  // rows up to this size share chunks of about this size

class ChunkGrid {
 public:
  /// extents: [rows, shape…]; none may be 0. largest: bytes of a chunk, at most kLargestChunk. shared: bytes
  /// that rows share; 0: each has a chunk of its own, so that what damages one costs no other.
  static ChunkGrid plan(std::vector<std::uint64_t> extents, std::uint64_t elementBytes,
                        std::uint64_t largest = kLargestChunk, std::uint64_t shared = kSharedChunk);
  /// From a file; kDamaged unless it is a grid that plan() could have made: every chunk one contiguous piece.
  static core::Result<ChunkGrid> of(std::vector<std::uint64_t> extents, std::vector<std::uint64_t> chunk,
                                    std::uint64_t elementBytes);

  struct Piece {
    std::vector<std::uint64_t> offset;  // of the chunk, in elements per dimension
    std::uint64_t firstByte = 0;        // in the row-major bytes of the whole dataset
    std::uint64_t bytes = 0;            // that are data; the rest of the chunk is zeros
  };
  std::uint64_t count() const { return m_count; }
  Piece piece(std::uint64_t index) const;  // chunks in row-major order
  std::uint64_t chunkBytes() const { return m_chunkBytes; }
  std::uint64_t rowBytes() const { return m_rowBytes; }
  std::uint64_t rowsPerChunk() const { return m_chunk[0]; }
  /// Indices [first, last) of the chunks that hold the row.
  std::pair<std::uint64_t, std::uint64_t> chunksOfRow(std::uint64_t row) const;

  const std::vector<std::uint64_t>& extents() const { return m_extents; }
  const std::vector<std::uint64_t>& chunk() const { return m_chunk; }

 private:
  ChunkGrid(std::vector<std::uint64_t> extents, std::vector<std::uint64_t> chunk, std::uint64_t elementBytes);
  std::vector<std::uint64_t> m_extents, m_chunk, m_grid;
  std::uint64_t m_elementBytes, m_rowBytes = 0, m_chunkBytes = 0, m_count = 1, m_perRow = 1;
};

}  // namespace msdbg::dump
