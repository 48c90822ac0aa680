// The columns of /statistics, one row of the table each: what the writer stores and the reader gives back.
// Counts are -1 and numbers NaN for a tensor that was not
// seen in an iteration, or only hashed. Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core_engine/tensor/dtype.h"
#include "core_engine/tensor/flags.h"
#include "watchpoints/source.h"

namespace msdbg::dump {

struct StatisticsColumn {
  std::string_view name;
  core::DType dtype;
  std::size_t width;  // elements of a cell: 2 for the hash, else 1
  bool hash = false;  // unsigned integers
  void (*write)(const watch::StatisticsRow* row, std::byte* cell);  // nullptr: not seen
  /// Cells that follow each other into rows that follow each other.
  void (*read)(const std::byte* cells, std::size_t count, watch::StatisticsRow* rows);

  std::size_t bytes() const { return width * core::dtypeSize(dtype); }
};

std::span<const StatisticsColumn> statisticsColumns();
std::size_t statisticsRowBytes();  // of all columns together
/// Whether the row holds statistics, or flags alone (core::isFlags): one of a tensor that was not seen, or
/// only hashed, has count -1.
inline bool seen(const watch::StatisticsRow& row) { return row.values.count >= 0; }
/// Whether it holds statistics.
inline bool complete(const watch::StatisticsRow& row) { return seen(row) && !core::isFlags(row.values); }
/// The row of a tensor whose rule says `record`.
watch::StatisticsRow hashOnly(const core::Hash128& hash);
/// Whether the row holds a hash: no tensor that was hashed has 0.
inline bool hashed(const watch::StatisticsRow& row) { return row.values.hash != core::Hash128(); }

}  // namespace msdbg::dump
