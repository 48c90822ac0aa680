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
  if (image.file) m_end = image.file->end();
  for (const IterationRecord* record : iterations)
    for (const auto& [key, row] : record->rows)
      for (const StoredChunk& chunk : row.chunks) {
        MSDBG_ASSIGN(const std::uint64_t stored, place(row, chunk, image));
        if (key.section == Section::kTensor) image.storedBytes += stored;
      }
  m_end = (m_end + 7) / 8 * 8;
  return core::Ok{};
}

core::Result<std::uint64_t> DataRegion::place(const TensorRow& row, const StoredChunk& chunk,
                                              SegmentImage& image) {
  const std::pair key(chunk.hash.low, chunk.hash.high);
  const auto same = m_same.find(key);
  if (same != m_same.end() && same->second.second == chunk.size) {
    m_places[&chunk] = same->second.first;
    return std::uint64_t{0};
  }
  if (chunk.bytes.data()) {
    add(chunk.bytes, chunk, image);
  } else if (row.file == image.file) {
    m_places[&chunk] = chunk.offset;
  } else {
    std::vector<std::byte>& bytes = m_readBack.emplace_back(chunk.size);
    MSDBG_TRY(row.file->read(chunk.offset, bytes));
    if (core::hashBytes(bytes) != chunk.hash)  // a disk that failed before
      return core::Error(core::ErrorCode::kDamaged, "what was written reads back as something else");
    add(bytes, chunk, image);
  }
  m_same[key] = {m_places[&chunk], chunk.size};
  return chunk.size;
}

void DataRegion::add(std::span<const std::byte> bytes, const StoredChunk& chunk, SegmentImage& image) {
  const std::uint64_t at = chunkPlace(m_end, chunk.size);
  m_places[&chunk] = at;
  m_end = at + chunk.size;
  image.pieces.push_back({at, bytes});
  if (at % core::kBlockBytes == 0 && !chunk.blocks.empty())  // read back: not known any more
    for (std::uint64_t i = 0; i < chunk.size / core::kBlockBytes; ++i)
      image.known[at / core::kBlockBytes + i] = chunk.blocks[i];
}

}  // namespace msdbg::dump
