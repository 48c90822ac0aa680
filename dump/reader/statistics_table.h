// StatisticsTable: /statistics and /record of one segment, untrusted. Opening it checks the hash of every
// column, in a stream; rows are then read in pieces, of which each is checked again, so a table takes little
// memory however large the segment is. Lives no longer than the SegmentReader that it comes from; not
// thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core_engine/base/result.h"
#include "watchpoints/source.h"

namespace msdbg::dump {

struct SegmentFileInfo;

class StatisticsTable {
 public:
  /// Rows of a piece: those of one 64 KiB block of the columns.
  static constexpr std::size_t kPieceRows = 8192;

  /// kDamaged: with the dataset in front.
  static core::Result<StatisticsTable> open(const SegmentFileInfo& segment);
  StatisticsTable(StatisticsTable&&) noexcept;
  StatisticsTable& operator=(StatisticsTable&&) noexcept;
  ~StatisticsTable();

  /// Full names with slot; those of /record last.
  const std::vector<std::string>& names() const { return m_names; }
  std::size_t pieces() const { return m_pieces; }
  /// Where the row of a name is found in an iteration, both by their index.
  struct Place {
    std::size_t piece, row;
  };
  Place place(std::size_t iteration, std::size_t name) const {
    const bool record = name >= m_statistics;
    const std::size_t cell = record ? iteration * (m_names.size() - m_statistics) + name - m_statistics
                                    : iteration * m_statistics + name;
    return {(record ? m_firstOfRecord : 0) + cell / kPieceRows, cell % kPieceRows};
  }
  /// The rows of a piece; kPieceRows at most. Both vectors are filled anew: give them again, and no memory is
  /// taken.
  using Scratch = std::vector<std::byte>;
  core::Status read(std::size_t piece, Scratch& scratch, std::vector<watch::StatisticsRow>& rows) const;
  /// The hashes alone: hashes[iteration * names().size() + name].
  core::Result<std::vector<core::Hash128>> hashes() const;

 private:
  struct Columns;
  StatisticsTable(std::unique_ptr<Columns> columns, std::vector<std::string> names);
  std::unique_ptr<Columns> m_columns;
  std::vector<std::string> m_names;
  std::size_t m_statistics;  // how many of the names are not of /record
  std::size_t m_firstOfRecord, m_pieces;
};

}  // namespace msdbg::dump
