#include "dump/writer/data_region_internal.h"

namespace msdbg::dump {
namespace {

using Iterations = std::span<const IterationRecord* const>;

// The newest one that no other segment has.
std::shared_ptr<RowFile> takeFile(Iterations iterations) {
  for (auto record = iterations.rbegin(); record != iterations.rend(); ++record)
    for (const auto& [tensor, row] : (*record)->rows)
      if (row.file && row.file->take()) return row.file;
  return nullptr;
}

}  // namespace

std::optional<std::uint64_t> DataRegion::placeOf(const StoredChunk& chunk) const {
  const auto at = m_places.find(&chunk);
  return at == m_places.end() ? std::nullopt : std::optional(at->second);
}

core::Status DataRegion::lay(Iterations iterations, SegmentImage& image) {
  image.file = takeFile(iterations);
  if (image.file) {
    m_end = image.file->end();
    m_stored = image.file->releaseStored();
  }
  for (const IterationRecord* record : iterations)
    for (const auto& [key, row] : record->rows)
      for (const StoredChunk& chunk : row.chunks) {
        MSDBG_ASSIGN(const std::uint64_t stored, place(row, chunk, image));
        (key.section == Section::kTensor ? image.storedBytes : image.replayBytes) += stored;
      }
  m_end = (m_end + 7) / 8 * 8;
  return core::Ok{};
}

core::Result<std::uint64_t> DataRegion::place(const TensorRow& row, const StoredChunk& chunk,
                                              SegmentImage& image) {
  std::optional<std::uint64_t> at = m_stored.chunk(chunk.hash, chunk.size);
  if (!at && chunk.bytes.data()) at = add(chunk.bytes, chunk, image);
  if (!at) {
    std::vector<std::byte>& bytes = m_readBack.emplace_back(chunk.size);
    MSDBG_TRY(row.file->read(chunk.offset, bytes));
    if (core::hashBytes(bytes) != chunk.hash)  // a disk that failed before
      return core::Error(core::ErrorCode::kDamaged, "what was written reads back as something else");
    at = add(bytes, chunk, image);
  }
  m_places[&chunk] = *at;
  return m_counted.insert(*at).second ? chunk.size : 0;
}

std::uint64_t DataRegion::add(std::span<const std::byte> bytes, const StoredChunk& chunk,
                              SegmentImage& image) {
  const std::uint64_t at = chunkPlace(m_end, chunk.size);
  m_end = at + chunk.size;
  m_stored.addChunk(chunk.hash, chunk.size, at);
  image.pieces.push_back({at, bytes});
  if (at % core::kBlockBytes == 0 && !chunk.blocks.empty())  // read back: not known any more
    for (std::uint64_t i = 0; i < chunk.size / core::kBlockBytes; ++i)
      image.known[at / core::kBlockBytes + i] = chunk.blocks[i];
  return at;
}

}  // namespace msdbg::dump
