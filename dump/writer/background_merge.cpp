#include "dump/writer/background_merge.h"

#include <algorithm>
#include <cstdio>

namespace msdbg::dump {
namespace {

constexpr std::size_t kPiece = 4u << 20;  // written in one step

}  // namespace

std::string segmentFileName(std::int64_t segment) {
  char name[48];
  std::snprintf(name, sizeof name, "segment_%06lld.h5", static_cast<long long>(segment));
  return name;
}

core::Status BackgroundMerge::begin() {
  std::vector<std::filesystem::path> files;
  for (const std::int64_t segment : m_old) files.push_back(m_folder / segmentFileName(segment));
  MSDBG_ASSIGN(m_merge, SegmentMerge::begin(m_rank, m_number, files, m_selection));
  return core::Ok{};
}

core::Status BackgroundMerge::write() {
  const auto piece = m_left.first(std::min(kPiece, m_left.size()));
  MSDBG_TRY(m_file->append(piece));
  m_left = m_left.subspan(piece.size());
  return core::Ok{};
}

core::Result<bool> BackgroundMerge::step() {
  if (!m_merge) {
    MSDBG_TRY(begin());
    return false;
  }
  if (!m_file) {
    MSDBG_ASSIGN(const bool all, m_merge->step());
    if (!all) return false;
    MSDBG_ASSIGN(m_left, m_merge->finish());
    MSDBG_ASSIGN(m_file, StepwiseFile::create(m_folder / segmentFileName(m_number)));
    return false;
  }
  if (!m_left.empty()) {
    MSDBG_TRY(write());
    return false;
  }
  MSDBG_TRY(m_file->commit());
  m_line = m_merge->line();
  m_line.file = segmentFileName(m_number);
  m_line.replaces = m_old;
  return true;
}

}  // namespace msdbg::dump
