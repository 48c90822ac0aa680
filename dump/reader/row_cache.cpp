#include "dump/reader/row_cache.h"

#include <algorithm>

namespace msdbg::dump {

// The memory of what goes is used again.
core::Result<RowCache::Piece*> RowCache::read(const StatisticsTable& table, std::size_t index,
                                              Piece** holder) {
  Piece fresh;
  while (m_pieces.size() >= kLeastPieces &&
         m_bytes + StatisticsTable::kPieceRows * sizeof(fresh.rows[0]) > m_room)
    fresh = takeOldest();
  MSDBG_TRY(table.read(index, m_scratch, fresh.rows));
  fresh.holder = holder;
  m_bytes += bytesOf(fresh);
  return &m_pieces.emplace_back(std::move(fresh));
}

RowCache::Piece RowCache::takeOldest() {
  const auto oldest = std::ranges::min_element(m_pieces, {}, &Piece::used);
  Piece taken = std::move(*oldest);
  m_bytes -= bytesOf(taken);
  *taken.holder = nullptr;
  m_pieces.erase(oldest);
  return taken;
}

void RowCache::drop(Piece* piece) {
  const auto found = std::ranges::find(m_pieces, piece, [](const Piece& each) { return &each; });
  m_bytes -= bytesOf(*found);
  m_pieces.erase(found);
}

CachedTable::~CachedTable() {
  for (RowCache::Piece* piece : m_pieces)
    if (piece) m_cache->drop(piece);
}

}  // namespace msdbg::dump
