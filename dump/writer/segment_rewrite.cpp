#include "dump/writer/segment_rewrite.h"

#include <unistd.h>

#include <algorithm>

namespace msdbg::dump {

SegmentRewrite::SegmentRewrite(std::filesystem::path folder, std::int64_t rank, std::int64_t number,
                               std::vector<std::int64_t> old, std::vector<MergeSelection> files)
    : m_folder(std::move(folder)), m_old(std::move(old)) {
  for (MergeSelection& file : files)
    m_jobs.push_back(std::make_unique<BackgroundMerge>(m_folder, rank, number++, m_old, std::move(file)));
  std::ranges::reverse(m_jobs);
}

SegmentRewrite::~SegmentRewrite() {
  for (const Written& file : m_written) ::unlink((m_folder / file.line.file).c_str());
}

core::Result<bool> SegmentRewrite::step() {
  MSDBG_ASSIGN(const bool done, m_jobs.back()->step());
  if (!done) return false;
  m_written.push_back({m_jobs.back()->line(), m_jobs.back()->replayBytes()});
  m_jobs.pop_back();
  return m_jobs.empty();
}

}  // namespace msdbg::dump
