#include <algorithm>
#include <charconv>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Error listError(std::string_view item, const std::string& why) {
  return {ErrorCode::kUsage,
          "list item '" + std::string(item) + "' " + why + "; write for example 0,2-4,100-"};
}

Result<std::int64_t> parseIndex(std::string_view digits, std::string_view item) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code == std::errc::result_out_of_range || (code == std::errc{} && value == IndexList::kOpen))
    return listError(item, "is too large");
  if (code != std::errc{} || end != digits.data() + digits.size() || digits.front() == '-')
    return listError(item, "is not a number or range");
  return value;
}

Result<IndexList::Range> parseRange(std::string_view item) {
  const std::size_t dash = item.find('-');
  if (item.empty() || dash == 0) return listError(item, "is not a number or range");
  MSDBG_ASSIGN(const std::int64_t first, parseIndex(trimmed(item.substr(0, dash)), item));
  if (dash == std::string_view::npos) return IndexList::Range{first, first};
  const std::string_view end = trimmed(item.substr(dash + 1));
  if (end.empty()) return IndexList::Range{first, IndexList::kOpen};
  MSDBG_ASSIGN(const std::int64_t last, parseIndex(end, item));
  if (last < first) return listError(item, "ends before it starts");
  return IndexList::Range{first, last};
}

bool touches(const IndexList::Range& a, const IndexList::Range& b) {
  return a.last == IndexList::kOpen || b.first <= a.last + 1;
}

std::string rangeText(const IndexList::Range& range) {
  std::string text = std::to_string(range.first);
  if (range.last == IndexList::kOpen) return text + "-";
  return range.last == range.first ? text : text + "-" + std::to_string(range.last);
}

}  // namespace

Result<IndexList> IndexList::parse(std::string_view text) {
  std::vector<Range> ranges;
  for (const std::string& item : split(text, ',')) {
    MSDBG_ASSIGN(const Range range, parseRange(trimmed(item)));
    ranges.push_back(range);
  }
  return IndexList(std::move(ranges));
}

IndexList::IndexList(std::vector<Range> ranges) {
  std::stable_sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (const Range& range : ranges) {
    if (!m_ranges.empty() && touches(m_ranges.back(), range))
      m_ranges.back().last = std::max(m_ranges.back().last, range.last);
    else
      m_ranges.push_back(range);
  }
}

bool IndexList::contains(std::int64_t value) const {
  const auto after = std::upper_bound(m_ranges.begin(), m_ranges.end(), value,
                                      [](std::int64_t v, const Range& range) { return v < range.first; });
  return after != m_ranges.begin() && value <= std::prev(after)->last;
}

std::string IndexList::text() const {
  std::vector<std::string> items;
  for (const Range& range : m_ranges) items.push_back(rangeText(range));
  return join(items, ",");
}

std::string formatRanges(std::span<const std::int64_t> sorted) {
  std::vector<IndexList::Range> ranges;
  for (const std::int64_t value : sorted) ranges.push_back({value, value});
  return IndexList(std::move(ranges)).text();
}

}  // namespace msdbg::core
