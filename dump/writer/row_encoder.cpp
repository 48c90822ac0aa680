#include "dump/writer/row_encoder.h"

#include <omp.h>

#include <algorithm>

namespace msdbg::dump {
namespace {

std::vector<core::Hash128> blocksOf(std::span<const std::byte> bytes, int threads) {
  std::vector<core::Hash128> blocks((bytes.size() + core::kBlockBytes - 1) / core::kBlockBytes);
  const auto count = static_cast<std::int64_t>(blocks.size());
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && count > 4)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t first = static_cast<std::size_t>(i) * core::kBlockBytes;
    blocks[static_cast<std::size_t>(i)] =
        core::hashBlock(bytes.subspan(first, std::min(core::kBlockBytes, bytes.size() - first)));
  }
  return blocks;
}

}  // namespace

std::uint64_t TensorRow::memoryBytes() const {
  std::uint64_t bytes = raw.size();
  for (const StoredChunk& chunk : chunks) bytes += chunk.own.size();
  return bytes;
}

void RowEncoder::reserve(int threads) {
  while (m_compressors.size() < static_cast<std::size_t>(std::max(threads, 1))) m_compressors.emplace_back();
}

bool RowEncoder::pays(RowKey key, std::span<const std::byte> bytes) {
  if (!m_compress) return false;
  reserve(1);
  const StageTimer timer(m_clock, Stage::kCompress, 0);
  Judged& judged = m_judged[key];
  if (m_file && judged.file == *m_file) return judged.trial.pays;
  judged.file = m_file.value_or(-1);
  return m_compressors[0].judge(bytes, judged.trial);
}

void RowEncoder::fill(StoredChunk& chunk, std::span<const std::byte> data, std::size_t chunkBytes,
                      Compressor* compressor) const {
  if (data.size() < chunkBytes) {  // at the end of a dimension: filled up with zeros
    chunk.own.assign(data.begin(), data.end());
    chunk.own.resize(chunkBytes);
    data = chunk.own;
  }
  std::vector<std::byte> packed;
  const bool smaller = compressor && compressor->compress(data, packed);
  if (smaller) chunk.own = std::move(packed);
  chunk.filterMask = smaller ? Compressor::kFilterMask : kRawMask;
  chunk.bytes = chunk.own.empty() ? data : std::span<const std::byte>(chunk.own);
  chunk.size = chunk.bytes.size();
}

void RowEncoder::encode(RowKey key, TensorRow& row, std::span<const std::byte> bytes, int threads) {
  const std::size_t element = core::dtypeSize(row.dtype);
  const bool compress = pays(key, bytes);
  row.largestChunk = compress ? kCompressedChunk : kLargestChunk;
  std::vector<std::uint64_t> extents = {1};
  extents.insert(extents.end(), row.shape.begin(), row.shape.end());
  const ChunkGrid grid = ChunkGrid::plan(std::move(extents), element, row.largestChunk);
  const auto count = static_cast<std::int64_t>(grid.count());
  row.chunks.resize(grid.count());
  reserve(threads);
  {
    const StageTimer timer(compress ? m_clock : nullptr, Stage::kCompress, bytes.size());
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1 && count > 1)
    for (std::int64_t i = 0; i < count; ++i) {
      const ChunkGrid::Piece piece = grid.piece(static_cast<std::uint64_t>(i));
      Compressor& own = m_compressors[static_cast<std::size_t>(omp_get_thread_num())];
      fill(row.chunks[static_cast<std::size_t>(i)], bytes.subspan(piece.firstByte, piece.bytes),
           grid.chunkBytes(), compress ? &own : nullptr);
    }
  }
  for (StoredChunk& chunk : row.chunks) {
    const bool whole = chunk.own.empty() && chunk.size == bytes.size() && !row.blocks.empty();
    const StageTimer timer(whole ? nullptr : m_clock, Stage::kHash, chunk.size);
    chunk.blocks = whole ? row.blocks : blocksOf(chunk.bytes, threads);
    chunk.hash = core::hashOfBlocks(chunk.blocks);
  }
}

StoredChunk RowEncoder::shared(RowKey key, std::span<const std::byte> bytes, std::size_t chunkBytes) {
  StoredChunk chunk;
  const bool compress = pays(key, bytes);
  {
    const StageTimer timer(compress ? m_clock : nullptr, Stage::kCompress, bytes.size());
    fill(chunk, bytes, chunkBytes, compress ? &m_compressors[0] : nullptr);
  }
  if (chunk.own.empty()) chunk.own.assign(bytes.begin(), bytes.end());
  chunk.bytes = chunk.own;
  const StageTimer timer(m_clock, Stage::kHash, chunk.size);
  chunk.hash = core::hashBytes(chunk.bytes);
  return chunk;
}

}  // namespace msdbg::dump
