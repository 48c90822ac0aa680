// SegmentStore: the rank's folder as the recorder sees it: commits segments with their journal lines, and
// does what Retention says: segments whose values are to go are replaced with statistics-only copies. Used by
// the background thread only.
#pragma once

#include <filesystem>
#include <memory>

#include "dump/journal.h"
#include "dump/writer/retention.h"
#include "dump/writer/segment_writer.h"

namespace msdbg::dump {

class SegmentStore {
 public:
  SegmentStore(std::filesystem::path folder, int rank, RetentionRules rules,
               std::shared_ptr<JournalWriter> journal);

  SegmentWriter& writer() { return m_writer; }
  /// On success the segment is durable and listed. Any error leaves what was committed before as it is.
  core::Status commit(std::span<const IterationRecord* const> iterations);
  /// What the rules say now of what is there: what they say of an iteration may have changed since.
  core::Status applyRules() { return makeRoom(0); }
  /// Lets go of the journal (and so of its lock); nothing is committed after this.
  void release() { m_journal.reset(); }
  /// An iteration alone exceeded maxBytes: copies of tensors are of no use any more.
  bool tooLarge() const { return m_tooLarge; }
  /// There were checkpoints, and the last was dropped with its segment: from what is left nothing can be
  /// computed again until the next one.
  bool lacksCheckpoint() const { return m_hadCheckpoint && !m_retention.hasCheckpoint(); }
  std::uint64_t bytesWritten() const { return m_bytesWritten; }

 private:
  core::Result<SegmentWriter::Image> buildWithin(std::span<const IterationRecord* const> iterations);
  core::Status makeRoom(std::uint64_t bytes);
  core::Status dropTensors(std::int64_t segment);
  core::Status add(SegmentLine& line, const SegmentWriter::Image& image);

  std::filesystem::path m_folder;
  int m_rank;
  Retention m_retention;
  std::shared_ptr<JournalWriter> m_journal;
  SegmentWriter m_writer, m_dropper;  // two: a built segment waits in memory while old ones make room for it
  std::int64_t m_next = 0;
  std::uint64_t m_bytesWritten = 0;
  bool m_tooLarge = false, m_hadCheckpoint = false;
};

}  // namespace msdbg::dump
