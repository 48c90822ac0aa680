// ListedSegments: what a journal says of segments, taken in as it is read: of hundreds of thousands of lines
// those stay that no later one replaces, so that memory is that of the run as it is now. Not thread-safe.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "dump/journal.h"

namespace msdbg::dump {

class ListedSegments {
 public:
  /// `files`: those of the folder.
  explicit ListedSegments(const std::vector<std::string>& files) : m_unlisted(files.begin(), files.end()) {}

  /// Takes the lines out.
  void take(std::vector<SegmentLine>& lines);
  /// Those that count, in the order of the journal.
  std::vector<SegmentLine> finish();
  bool any() const { return m_any; }
  /// Files that no line names, in the order of their names.
  std::vector<std::string> unlisted() const;

 private:
  void dropReplaced();
  std::vector<SegmentLine> m_lines;
  static constexpr std::size_t kLeast = 4096;
  std::size_t m_next = kLeast;                            // so many lines, and replaced ones are dropped
  std::vector<std::int64_t> m_replaced, m_newlyReplaced;  // segment numbers, ascending
  std::unordered_set<std::string> m_unlisted;
  bool m_any = false;
};

}  // namespace msdbg::dump
