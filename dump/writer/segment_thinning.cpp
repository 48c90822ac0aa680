#include "dump/writer/segment_thinning.h"

#include <unistd.h>

namespace msdbg::dump {

SegmentThinning::SegmentThinning(std::filesystem::path folder, std::int64_t rank, std::int64_t number,
                                 Task task)
    : m_folder(std::move(folder)), m_task(std::move(task)) {
  const auto add = [&](std::int64_t segment, MergeSelection selection) {
    m_jobs.push_back(
        std::make_unique<BackgroundMerge>(m_folder, rank, segment, m_task.old, std::move(selection)));
  };
  const auto keeps = m_task.keeps;
  add(number + 1, {.takes = [keeps](std::int64_t iteration) { return !keeps(iteration); },
                   .thinned = m_task.step,
                   .keptHashes = m_task.hashes});
  if (m_task.anyKept) add(number, {.takes = keeps, .thinned = 0, .keptHashes = {}});
}

SegmentThinning::~SegmentThinning() {
  for (const SegmentLine& line : m_lines) ::unlink((m_folder / line.file).c_str());
}

core::Result<bool> SegmentThinning::step() {
  MSDBG_ASSIGN(const bool done, m_jobs.back()->step());
  if (!done) return false;
  m_lines.push_back(m_jobs.back()->line());
  m_jobs.pop_back();
  return m_jobs.empty();
}

}  // namespace msdbg::dump
