#include "dump/reader/statistics_table.h"

#include <algorithm>
#include <set>

#include "dump/reader/column_internal.h"
#include "dump/statistics_columns.h"

namespace msdbg::dump {
namespace {

using core::Hash128;
using core::Status;
using hdf5::Handle;
using hdf5::owned;
using watch::StatisticsRow;

constexpr std::size_t kMostNameBytes = 1u << 20;

core::Error damaged(const std::string& what) { return {core::ErrorCode::kDamaged, what}; }

core::Result<std::vector<std::string>> readNames(const SegmentFileInfo& segment, const std::string& path) {
  const auto names = [&]() -> core::Result<std::vector<std::string>> {
    MSDBG_ASSIGN(const hsize_t count, lengthOf(segment.file, path));
    MSDBG_ASSIGN(const Handle dataset, hdf5::openDataset(segment.file, path));
    MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Dget_type, dataset.id()), H5Tclose));
    MSDBG_ASSIGN(const H5T_class_t kind, MSDBG_H5(H5Tget_class, type.id()));
    MSDBG_ASSIGN(const htri_t variable, MSDBG_H5(H5Tis_variable_str, type.id()));
    const std::size_t width = H5Tget_size(type.id());
    if (kind != H5T_STRING || variable != 0 || width == 0 || width > kMostNameBytes)
      return damaged("not names");
    MSDBG_ASSIGN(const std::vector<std::byte> bytes, readColumn(segment, path, type.id(), {&count, 1}));
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < bytes.size(); at += width) {
      const char* text = reinterpret_cast<const char*>(&bytes[at]);
      texts.emplace_back(text, std::find(text, text + width, '\0'));
    }
    return texts;
  }();
  return names.ok() ? names : names.error().in(path);
}

/// The columns of one of the two groups: cells [iterations, tensors], row by row.
struct Group {
  struct Part {
    const StatisticsColumn* meaning;
    std::string path;
    Column column;
  };
  std::size_t tensors = 0, cells = 0, rowBytes = 0;
  std::vector<Part> parts;

  std::size_t pieces() const {
    return (cells + StatisticsTable::kPieceRows - 1) / StatisticsTable::kPieceRows;
  }
  Status add(const SegmentFileInfo& segment, const StatisticsColumn& meaning, std::string path);
  Status read(std::size_t piece, StatisticsTable::Scratch& scratch, std::vector<StatisticsRow>& rows) const;
};

Status Group::add(const SegmentFileInfo& segment, const StatisticsColumn& meaning, std::string path) {
  std::vector<hsize_t> dims = {segment.iterations.size(), tensors};
  if (meaning.width > 1) dims.push_back(meaning.width);
  auto column =
      Column::open(segment, path, meaning.hash ? H5T_STD_U64LE : hdf5::fileType(meaning.dtype), dims);
  if (!column.ok()) return column.error().in(path);
  rowBytes += meaning.bytes();
  parts.push_back({&meaning, std::move(path), std::move(*column)});
  return core::Ok{};
}

// Rows are made some at a time from all columns, so that they stay in the first cache meanwhile: column by
// column over the whole piece takes four times as long.
Status Group::read(std::size_t piece, StatisticsTable::Scratch& scratch,
                   std::vector<StatisticsRow>& rows) const {
  constexpr std::size_t kTogether = 64;
  static_assert(StatisticsTable::kPieceRows * sizeof(double) % core::kBlockBytes == 0);
  const std::size_t first = piece * StatisticsTable::kPieceRows;
  rows.resize(std::min(StatisticsTable::kPieceRows, cells - first));
  scratch.resize(rows.size() * rowBytes);
  std::byte* stored = scratch.data();
  for (const Part& part : parts) {
    const std::size_t width = part.meaning->bytes();
    const Status status = part.column.read(first * width, {stored, rows.size() * width});
    if (!status.ok()) return status.error().in(part.path);
    stored += rows.size() * width;
  }
  for (std::size_t row = 0; row < rows.size(); row += kTogether) {
    const std::size_t count = std::min(kTogether, rows.size() - row);
    std::fill_n(&rows[row], count, hashOnly({}));
    const std::byte* column = scratch.data();
    for (const Part& part : parts) {
      part.meaning->read(column + row * part.meaning->bytes(), count, &rows[row]);
      column += rows.size() * part.meaning->bytes();
    }
  }
  return core::Ok{};
}

}  // namespace

struct StatisticsTable::Columns {
  std::size_t iterations = 0;
  Group statistics, record;

  core::Result<std::vector<std::string>> readAllNames(const SegmentFileInfo& segment);
  Status open(const SegmentFileInfo& segment);
};

core::Result<std::vector<std::string>> StatisticsTable::Columns::readAllNames(
    const SegmentFileInfo& segment) {
  std::vector<std::string> names;
  for (const auto& [path, group] : {std::pair("/statistics", &statistics), std::pair("/record", &record)}) {
    MSDBG_ASSIGN(const bool there, hdf5::exists(segment.file, path));
    if (!there) continue;  // of no tensor
    MSDBG_ASSIGN(const std::vector<std::string> found, readNames(segment, path + std::string("/tensor")));
    group->tensors = found.size();
    group->cells = iterations * found.size();
    names.insert(names.end(), found.begin(), found.end());
  }
  if (statistics.cells > segment.fileBytes / statisticsRowBytes() ||
      record.cells > segment.fileBytes / sizeof(Hash128))
    return damaged("/statistics: more cells than the file can hold");
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    return damaged("/statistics/tensor: a name is there twice");
  return names;
}

Status StatisticsTable::Columns::open(const SegmentFileInfo& segment) {
  for (const StatisticsColumn& column : statisticsColumns()) {
    if (statistics.tensors > 0)
      MSDBG_TRY(statistics.add(segment, column, "/statistics/" + std::string(column.name)));
    if (record.tensors > 0 && column.hash) MSDBG_TRY(record.add(segment, column, "/record/hash"));
  }
  return core::Ok{};
}

core::Result<StatisticsTable> StatisticsTable::open(const SegmentFileInfo& segment) {
  auto columns = std::make_unique<Columns>();
  columns->iterations = segment.iterations.size();
  MSDBG_ASSIGN(std::vector<std::string> names, columns->readAllNames(segment));
  MSDBG_TRY(columns->open(segment));
  return StatisticsTable(std::move(columns), std::move(names));
}

StatisticsTable::StatisticsTable(std::unique_ptr<Columns> columns, std::vector<std::string> names)
    : m_columns(std::move(columns)),
      m_names(std::move(names)),
      m_statistics(m_columns->statistics.tensors),
      m_firstOfRecord(m_columns->statistics.pieces()),
      m_pieces(m_firstOfRecord + m_columns->record.pieces()) {}
StatisticsTable::StatisticsTable(StatisticsTable&&) noexcept = default;
StatisticsTable& StatisticsTable::operator=(StatisticsTable&&) noexcept = default;
StatisticsTable::~StatisticsTable() = default;

Status StatisticsTable::read(std::size_t piece, Scratch& scratch, std::vector<StatisticsRow>& rows) const {
  return piece < m_firstOfRecord ? m_columns->statistics.read(piece, scratch, rows)
                                 : m_columns->record.read(piece - m_firstOfRecord, scratch, rows);
}

core::Result<std::vector<Hash128>> StatisticsTable::hashes() const {
  std::vector<Hash128> all(m_columns->iterations * m_names.size());
  std::vector<Hash128> column;
  std::size_t firstName = 0;
  for (const Group* group : {&m_columns->statistics, &m_columns->record}) {
    for (const Group::Part& part : group->parts) {
      if (!part.meaning->hash) continue;
      column.resize(group->cells);
      const Status status = part.column.read(0, std::as_writable_bytes(std::span(column)));
      if (!status.ok()) return status.error().in(part.path);
      for (std::size_t cell = 0; cell < column.size(); ++cell)
        all[cell / group->tensors * m_names.size() + firstName + cell % group->tensors] = column[cell];
    }
    firstName += group->tensors;
  }
  return all;
}

}  // namespace msdbg::dump
