// The columns of /statistics, one row of the table each: what the writer stores and the reader gives back.
// Counts are -1 and numbers NaN for a tensor that was not seen in an iteration. Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core_engine/tensor/dtype.h"
#include "watchpoints/source.h"

namespace msdbg::dump {

struct StatisticsColumn {
  std::string_view name;
  core::DType dtype;
  std::size_t width;  // elements of a cell: 2 for the hash, else 1
  bool hash = false;  // unsigned integers
  void (*write)(const watch::StatisticsRow* row, std::byte* cell);  // nullptr: not seen
  void (*read)(const std::byte* cell, watch::StatisticsRow& row);

  std::size_t bytes() const { return width * core::dtypeSize(dtype); }
};

std::span<const StatisticsColumn> statisticsColumns();
std::size_t statisticsRowBytes();  // of all columns together
/// Whether the row was seen: not-seen rows have count -1.
inline bool seen(const watch::StatisticsRow& row) { return row.values.count >= 0; }

}  // namespace msdbg::dump
