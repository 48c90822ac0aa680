#include "dump/reader/listed_segments.h"

#include <algorithm>
#include <utility>

namespace msdbg::dump {
void ListedSegments::take(const SegmentGlance& shown, std::string_view object, std::size_t line) {
  m_any = true;
  if (!m_unlisted.empty()) m_unlisted.erase(std::string(shown.file));
  for (const std::int64_t segment : shown.replaces) m_replaced.insert(segment);
  m_lines.push_back({shown.segment, line, m_text.size(), object.size(), shown.replaces});
  m_text += object;
  if (m_lines.size() < m_next) return;
  dropReplaced();
  m_next = 2 * m_lines.size() + kLeast;
}

// A number that was replaced stays so, also where a line comes later. Of several lines of one number the
// first counts.
void ListedSegments::dropReplaced() {
  NumberSet seen;
  std::erase_if(m_lines, [&](const Line& line) {
    return m_replaced.contains(line.segment) || !seen.insert(line.segment);
  });
  std::string text;
  for (Line& line : m_lines) {
    const std::size_t begin = std::exchange(line.begin, text.size());
    text.append(m_text, begin, line.length);
  }
  m_text = std::move(text);
}

std::vector<SegmentLine> ListedSegments::finish(JournalParser& parser) {
  dropReplaced();
  std::vector<SegmentLine> segments;
  for (const Line& line : m_lines) {
    const std::string_view text = std::string_view(m_text).substr(line.begin, line.length);
    if (auto segment = parser.segment({line.segment, {}, line.replaces, {}}, text, line.number))
      segments.push_back(*std::move(segment));
  }
  return segments;
}

std::vector<std::string> ListedSegments::unlisted() const {
  std::vector<std::string> files(m_unlisted.begin(), m_unlisted.end());
  std::ranges::sort(files);
  return files;
}

}  // namespace msdbg::dump
