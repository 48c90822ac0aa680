#include "dump/reader/listed_segments.h"

#include <algorithm>
#include <unordered_set>

namespace msdbg::dump {
namespace {

void mergeInto(std::vector<std::int64_t>& sorted, const std::vector<std::int64_t>& more) {
  const auto older = static_cast<std::ptrdiff_t>(sorted.size());
  sorted.insert(sorted.end(), more.begin(), more.end());
  std::inplace_merge(sorted.begin(), sorted.begin() + older, sorted.end());
}

}  // namespace

void ListedSegments::take(std::vector<SegmentLine>& lines) {
  std::vector<std::int64_t> replaced;
  for (SegmentLine& line : lines) {
    m_any = true;
    m_unlisted.erase(line.file);
    replaced.insert(replaced.end(), line.replaces.begin(), line.replaces.end());
    m_lines.push_back(std::move(line));
  }
  lines.clear();
  std::ranges::sort(replaced);
  mergeInto(m_newlyReplaced, replaced);
  if (m_lines.size() < m_next) return;
  dropReplaced();
  m_next = 2 * m_lines.size() + kLeast;
}

// A number that was replaced stays so, also where a line comes later. Of several lines of one number the
// first counts. Most are replaced soon, so the newer numbers are looked at first; they join the older ones
// when they are many, so that none is moved often.
void ListedSegments::dropReplaced() {
  std::unordered_set<std::int64_t> seen;
  std::erase_if(m_lines, [&](const SegmentLine& line) {
    return std::ranges::binary_search(m_newlyReplaced, line.segment) ||
           std::ranges::binary_search(m_replaced, line.segment) || !seen.insert(line.segment).second;
  });
  if (m_newlyReplaced.size() < m_replaced.size() / 8) return;
  mergeInto(m_replaced, m_newlyReplaced);
  m_newlyReplaced.clear();
}

std::vector<SegmentLine> ListedSegments::finish() {
  dropReplaced();
  return std::move(m_lines);
}

std::vector<std::string> ListedSegments::unlisted() const {
  std::vector<std::string> files(m_unlisted.begin(), m_unlisted.end());
  std::ranges::sort(files);
  return files;
}

}  // namespace msdbg::dump
