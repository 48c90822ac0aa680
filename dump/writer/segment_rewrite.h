// SegmentRewrite: neighbouring segments become one or two others that hold less: no values, fewer rows of
// statistics, fewer checkpoints or batches; in steps as a merge. Until their lines are in the journal the new
// files count for nothing; they are removed if it does not come to that. One thread.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "dump/writer/background_merge.h"

namespace msdbg::dump {

class SegmentRewrite {
 public:
  /// A new file, and what it takes of the old ones. Each iteration is in exactly one of them.
  struct Written {
    SegmentLine line;               // whole but for `dropped`
    std::uint64_t replayBytes = 0;  // of the file, for checkpoints and batches
  };
  /// `old`: segments, oldest first; `number`: of the first new segment, those of the others follow.
  SegmentRewrite(std::filesystem::path folder, std::int64_t rank, std::int64_t number,
                 std::vector<std::int64_t> old, std::vector<MergeSelection> files);
  ~SegmentRewrite();
  SegmentRewrite(const SegmentRewrite&) = delete;
  SegmentRewrite& operator=(const SegmentRewrite&) = delete;

  /// true: the files are committed, written() is to be listed together. As BackgroundMerge.
  core::Result<bool> step();
  const std::vector<std::int64_t>& old() const { return m_old; }
  const std::vector<Written>& written() const { return m_written; }
  void listed() { m_written.clear(); }

 private:
  std::filesystem::path m_folder;
  std::vector<std::int64_t> m_old;
  std::vector<std::unique_ptr<BackgroundMerge>> m_jobs;  // to be done, next one last
  std::vector<Written> m_written;                        // committed files
};

}  // namespace msdbg::dump
