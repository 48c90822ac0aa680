#include "dump/codec/chunk_grid.h"

#include <algorithm>

namespace msdbg::dump {
namespace {

std::uint64_t ceilDivide(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// As many pieces as `limit` asks for, of nearly equal length: the last one then has little to fill up.
std::uint64_t evenPiece(std::uint64_t extent, std::uint64_t limit) {
  return ceilDivide(extent, ceilDivide(extent, std::clamp<std::uint64_t>(limit, 1, extent)));
}

// Contiguous: after leading ones at most one dimension is partial; the rest are whole.
bool contiguous(const std::vector<std::uint64_t>& extents, const std::vector<std::uint64_t>& chunk) {
  std::size_t i = 0;
  while (i < chunk.size() && chunk[i] == 1) ++i;
  for (++i; i < chunk.size(); ++i) {
    if (chunk[i] != extents[i]) return false;
  }
  return true;
}

core::Error damaged(const char* what) { return {core::ErrorCode::kDamaged, what}; }

}  // namespace

ChunkGrid::ChunkGrid(std::vector<std::uint64_t> extents, std::vector<std::uint64_t> chunk,
                     std::uint64_t elementBytes)
    : m_extents(std::move(extents)), m_chunk(std::move(chunk)), m_elementBytes(elementBytes) {
  m_rowBytes = m_chunkBytes = elementBytes;
  for (std::size_t i = 0; i < m_extents.size(); ++i) {
    m_grid.push_back(ceilDivide(m_extents[i], m_chunk[i]));
    m_count *= m_grid[i];
    m_chunkBytes *= m_chunk[i];
    if (i > 0) m_rowBytes *= m_extents[i], m_perRow *= m_grid[i];
  }
}

ChunkGrid ChunkGrid::plan(std::vector<std::uint64_t> extents, std::uint64_t elementBytes,
                          std::uint64_t largest, std::uint64_t shared) {
  std::vector<std::uint64_t> chunk = extents;
  std::uint64_t bytes = elementBytes;
  for (std::size_t i = 1; i < extents.size(); ++i) bytes *= extents[i];
  chunk[0] = evenPiece(extents[0], shared / bytes);
  for (std::size_t i = 1; i < extents.size() && bytes > largest; ++i) {
    const std::uint64_t inner = bytes / extents[i];
    chunk[i] = evenPiece(extents[i], largest / inner);
    bytes = inner * chunk[i];
  }
  return {std::move(extents), std::move(chunk), elementBytes};
}

core::Result<ChunkGrid> ChunkGrid::of(std::vector<std::uint64_t> extents, std::vector<std::uint64_t> chunk,
                                      std::uint64_t elementBytes) {
  if (extents.empty() || chunk.size() != extents.size())
    return damaged("chunks of another rank than the dataset");
  std::uint64_t chunkBytes = elementBytes, bytes = elementBytes;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 0 || chunk[i] == 0 || chunk[i] > extents[i]) return damaged("impossible extents");
    if (chunk[i] > kLargestChunk / chunkBytes) return damaged("a chunk of more than 16 MiB");
    if (extents[i] > (1ull << 60) / bytes) return damaged("impossible extents");
    chunkBytes *= chunk[i];
    bytes *= extents[i];
  }
  if (!contiguous(extents, chunk)) return damaged("chunks that are not contiguous pieces");
  return ChunkGrid(std::move(extents), std::move(chunk), elementBytes);
}

ChunkGrid::Piece ChunkGrid::piece(std::uint64_t index) const {
  Piece piece;
  piece.offset.resize(m_extents.size());
  for (std::size_t i = m_extents.size(); i-- > 0; index /= m_grid[i])
    piece.offset[i] = index % m_grid[i] * m_chunk[i];
  std::uint64_t stride = m_elementBytes;
  piece.bytes = m_elementBytes;
  for (std::size_t i = m_extents.size(); i-- > 0; stride *= m_extents[i]) {
    piece.firstByte += piece.offset[i] * stride;
    piece.bytes *= std::min(m_chunk[i], m_extents[i] - piece.offset[i]);
  }
  return piece;
}

std::pair<std::uint64_t, std::uint64_t> ChunkGrid::chunksOfRow(std::uint64_t row) const {
  const std::uint64_t first = row / m_chunk[0] * m_perRow;
  return {first, first + m_perRow};
}

}  // namespace msdbg::dump
