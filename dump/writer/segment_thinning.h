// SegmentThinning: neighbouring segments become two, in steps as a merge: one with the rows of the iterations
// that keep their statistics, one without statistics for the others (scalars, digests and the hashes of
// batches stay). Until their lines are in the journal the new files count for nothing; they are removed if it
// does not come to that. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dump/writer/background_merge.h"

namespace msdbg::dump {

class SegmentThinning {
 public:
  struct Task {
    std::vector<std::int64_t> old;  // segments, oldest first
    std::int64_t step = 10;         // every so many-th iteration keeps its statistics
    std::set<std::string> hashes;   // full names of tensors whose hashes stay
    std::function<bool(std::int64_t iteration)> keeps;
    bool anyKept = true;  // else there is only one new segment, that of the others
  };
  /// `number`: of the first new segment; the second one's is the next.
  SegmentThinning(std::filesystem::path folder, std::int64_t rank, std::int64_t number, Task task);
  ~SegmentThinning();
  SegmentThinning(const SegmentThinning&) = delete;
  SegmentThinning& operator=(const SegmentThinning&) = delete;

  /// true: the files are committed, lines() are to be listed together. As BackgroundMerge.
  core::Result<bool> step();
  const Task& task() const { return m_task; }
  const std::vector<SegmentLine>& lines() const { return m_lines; }
  void listed() { m_lines.clear(); }

 private:
  std::filesystem::path m_folder;
  Task m_task;
  std::vector<std::unique_ptr<BackgroundMerge>> m_jobs;  // to be done, next one last
  std::vector<SegmentLine> m_lines;                      // of committed files
};

}  // namespace msdbg::dump
