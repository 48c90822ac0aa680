// RowCache: rows of statistics, decoded, of all segments that are open: the pieces of their tables that were
// used last, in a bounded number of bytes. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "dump/reader/statistics_table.h"

namespace msdbg::dump {

class RowCache {
 public:
  /// How many pieces there are at least, whatever their size: a row stays where it is until rows of so many
  /// other pieces were asked for.
  static constexpr std::size_t kLeastPieces = 17;

  explicit RowCache(std::size_t bytes) : m_room(bytes) {}
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  /// What may be held from now on.
  void setRoom(std::size_t bytes) { m_room = bytes; }
  std::size_t bytes() const { return m_bytes; }

 private:
  friend class CachedTable;
  struct Piece {
    std::vector<watch::StatisticsRow> rows;
    std::uint64_t used = 0;
    Piece** holder = nullptr;  // the table's pointer to it
  };
  static std::size_t bytesOf(const Piece& piece) {
    return piece.rows.capacity() * sizeof(watch::StatisticsRow);
  }
  core::Result<Piece*> read(const StatisticsTable& table, std::size_t index, Piece** holder);
  Piece takeOldest();
  void drop(Piece* piece);

  std::size_t m_room, m_bytes = 0;
  std::uint64_t m_clock = 0;
  std::list<Piece> m_pieces;
  StatisticsTable::Scratch m_scratch;
};

/// A table whose rows are in the cache. Its pieces go with it; it goes before the cache.
class CachedTable {
 public:
  CachedTable(RowCache& cache, StatisticsTable table)
      : m_cache(&cache), m_table(std::move(table)), m_pieces(m_table.pieces()) {}
  ~CachedTable();
  CachedTable(const CachedTable&) = delete;
  CachedTable& operator=(const CachedTable&) = delete;

  const StatisticsTable& table() const { return m_table; }
  /// The row of a name in an iteration, both by their index.
  core::Result<const watch::StatisticsRow*> row(std::size_t iteration, std::size_t name) {
    const StatisticsTable::Place place = m_table.place(iteration, name);
    RowCache::Piece*& piece = m_pieces[place.piece];
    if (!piece) {
      MSDBG_ASSIGN(piece, m_cache->read(m_table, place.piece, &piece));
    }
    piece->used = ++m_cache->m_clock;
    return &piece->rows[place.row];
  }

 private:
  RowCache* m_cache;
  StatisticsTable m_table;
  std::vector<RowCache::Piece*> m_pieces;  // nullptr: not in the cache
};

}  // namespace msdbg::dump
