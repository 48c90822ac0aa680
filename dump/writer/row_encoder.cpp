#include "dump/writer/row_encoder.h"

#include <omp.h>

#include <algorithm>

namespace msdbg::dump {
namespace {

std::vector<core::Hash128> blocksOf(std::span<const std::byte> bytes) {
  std::vector<core::Hash128> blocks;
  for (std::size_t at = 0; at < bytes.size(); at += core::kBlockBytes)
    blocks.push_back(core::hashBlock(bytes.subspan(at, std::min(core::kBlockBytes, bytes.size() - at))));
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

RowEncoder::Judged& RowEncoder::judge(RowKey key, std::span<const std::byte> bytes) {
  Judged& judged = m_judged[key];
  if (!m_compress || (m_file && judged.file == *m_file)) return judged;
  reserve(1);
  const StageTimer timer(m_clock, Stage::kCompress, 0);
  judged.file = m_file.value_or(-1);
  judged.filtered = m_compressors[0].judge(bytes, judged.trial);
  return judged;
}

void RowEncoder::fill(StoredChunk& chunk, std::span<const std::byte> data, std::size_t chunkBytes,
                      Compressor* compressor) const {
  std::vector<std::byte> filledUp;
  if (data.size() < chunkBytes) {  // at the end of a dimension: filled up with zeros
    filledUp.assign(data.begin(), data.end());
    filledUp.resize(chunkBytes);
    data = filledUp;
  }
  const bool smaller = compressor && compressor->compress(data, chunk.own);
  if (!smaller) chunk.own = std::move(filledUp);
  chunk.filterMask = smaller ? Compressor::kFilterMask : kRawMask;
  chunk.bytes = chunk.own.empty() ? data : std::span<const std::byte>(chunk.own);
  chunk.size = chunk.bytes.size();
}

bool RowEncoder::keepsWhole(RowKey key, std::span<const std::byte> bytes) {
  return bytes.size() <= kLargestChunk && !judge(key, bytes).filtered;
}

void RowEncoder::takeBack(StoredChunk& chunk) {
  if (chunk.filterMask != kRawMask) m_memory.push_back(std::move(chunk.own));
  chunk.own = {};
}

void RowEncoder::reuseMemory(std::span<StoredChunk> chunks) {
  for (StoredChunk& chunk : chunks) {
    if (m_memory.empty()) return;
    chunk.own = std::move(m_memory.back());
    chunk.own.clear();
    m_memory.pop_back();
  }
}

void RowEncoder::encode(RowKey key, TensorRow& row, std::span<const std::byte> bytes, int threads) {
  const std::size_t element = core::dtypeSize(row.dtype);
  Judged& judged = judge(key, bytes);
  const bool compress = judged.trial.pays;
  row.largestChunk = judged.filtered ? kCompressedChunk : kLargestChunk;
  std::vector<std::uint64_t> extents = {1};
  extents.insert(extents.end(), row.shape.begin(), row.shape.end());
  const ChunkGrid grid = ChunkGrid::plan(std::move(extents), element, row.largestChunk);
  const auto count = static_cast<std::int64_t>(grid.count());
  row.chunks.resize(grid.count());
  reserve(threads);
  if (compress) reuseMemory(row.chunks);
  const bool known = !compress && count == 1 && grid.chunkBytes() == bytes.size() && !row.blocks.empty();
  const StageTimer timer(known ? nullptr : m_clock, compress ? Stage::kCompress : Stage::kHash, bytes.size());
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1 && count > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    const ChunkGrid::Piece piece = grid.piece(static_cast<std::uint64_t>(i));
    Compressor& own = m_compressors[static_cast<std::size_t>(omp_get_thread_num())];
    StoredChunk& chunk = row.chunks[static_cast<std::size_t>(i)];
    fill(chunk, bytes.subspan(piece.firstByte, piece.bytes), grid.chunkBytes(), compress ? &own : nullptr);
    chunk.blocks = known ? row.blocks : blocksOf(chunk.bytes);  // of bytes in this core's cache
    chunk.hash = core::hashOfBlocks(chunk.blocks);
  }
  std::uint64_t stored = 0;
  for (const StoredChunk& chunk : row.chunks) stored += chunk.size;
  if (compress) judged.trial.gained(bytes.size(), stored);
}

StoredChunk RowEncoder::shared(RowKey key, std::span<const std::byte> bytes, std::size_t chunkBytes) {
  StoredChunk chunk;
  CompressionTrial& trial = judge(key, bytes).trial;
  const bool compress = trial.pays;
  {
    const StageTimer timer(compress ? m_clock : nullptr, Stage::kCompress, bytes.size());
    fill(chunk, bytes, chunkBytes, compress ? &m_compressors[0] : nullptr);
  }
  if (compress) trial.gained(bytes.size(), chunk.size);
  if (chunk.own.empty()) chunk.own.assign(bytes.begin(), bytes.end());
  chunk.bytes = chunk.own;
  const StageTimer timer(m_clock, Stage::kHash, chunk.size);
  chunk.hash = core::hashBytes(chunk.bytes);
  return chunk;
}

}  // namespace msdbg::dump
