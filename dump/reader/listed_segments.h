// ListedSegments: what a journal says of segments, taken in as it is read: of hundreds of thousands of lines
// those stay that no later one replaces, so that memory is that of the run as it is now; and only these are
// read. Not thread-safe.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "dump/journal.h"
#include "dump/reader/number_set.h"

namespace msdbg::dump {

class ListedSegments {
 public:
  /// `files`: those of the folder.
  explicit ListedSegments(const std::vector<std::string>& files) : m_unlisted(files.begin(), files.end()) {}

  /// As JournalParser shows them.
  void take(const SegmentGlance& shown, std::string_view object, std::size_t line);
  /// Those that count, in the order of the journal.
  std::vector<SegmentLine> finish(JournalParser& parser);
  bool any() const { return m_any; }
  /// Files that no line names, in the order of their names.
  std::vector<std::string> unlisted() const;

 private:
  struct Line {
    std::int64_t segment;
    std::size_t number, begin, length;  // of its text in m_text
    std::vector<std::int64_t> replaces;
  };
  void dropReplaced();
  std::vector<Line> m_lines;
  std::string m_text;
  static constexpr std::size_t kLeast = 4096;
  std::size_t m_next = kLeast;  // so many lines, and replaced ones are dropped
  NumberSet m_replaced;
  std::unordered_set<std::string> m_unlisted;
  bool m_any = false;
};

}  // namespace msdbg::dump
