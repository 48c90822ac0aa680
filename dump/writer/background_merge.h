// BackgroundMerge: one merge from its files to the new one under its name, in steps of a few MiB, so that a
// commit never waits for long. Until its line is in the journal the new file counts for nothing: giving up is
// possible at any step (and so is a crash). One thread.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "dump/writer/segment_merge.h"
#include "dump/writer/stepwise_file.h"

namespace msdbg::dump {

/// segment_000012.h5
std::string segmentFileName(std::int64_t segment);

class BackgroundMerge {
 public:
  /// `old`: numbers of segments in `folder`, oldest first.
  BackgroundMerge(std::filesystem::path folder, std::int64_t rank, std::int64_t number,
                  std::vector<std::int64_t> old, MergeSelection selection = {})
      : m_folder(std::move(folder)),
        m_rank(rank),
        m_number(number),
        m_old(std::move(old)),
        m_selection(std::move(selection)) {}

  /// true: the file is committed, line() is to be listed. As SegmentMerge; kIo.
  core::Result<bool> step();
  const std::vector<std::int64_t>& old() const { return m_old; }
  /// Whole but for `dropped`, which only the journal knows.
  const SegmentLine& line() const { return m_line; }
  /// Of the file, what checkpoints and batches take.
  std::uint64_t replayBytes() const { return m_merge->replayBytes(); }

 private:
  core::Status begin();
  core::Status write();

  std::filesystem::path m_folder;
  std::int64_t m_rank, m_number;
  std::vector<std::int64_t> m_old;
  MergeSelection m_selection;
  std::unique_ptr<SegmentMerge> m_merge;
  std::unique_ptr<StepwiseFile> m_file;
  std::span<const std::byte> m_left;  // of the image, to be written
  SegmentLine m_line;
};

}  // namespace msdbg::dump
