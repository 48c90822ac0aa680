#include "core_engine/base/iteration_set.h"

#include <charconv>

namespace msdbg::core {
namespace {

using Range = IterationSet::Range;

// "7", "5-9": what nearly every line of a journal says. nullopt: something else, or nonsense.
std::optional<Range> oneRange(std::string_view text) {
  Range range{};
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc{}) return std::nullopt;
  if (first.ptr == end) return Range{range.first, range.first};
  if (*first.ptr != '-' || first.ptr + 1 == end || first.ptr[1] == '-') return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, range.last);
  if (last.ec != std::errc{} || last.ptr != end || range.last < range.first) return std::nullopt;
  return range;
}

std::uint64_t sizeOf(const Range& range) { return static_cast<std::uint64_t>(range.last - range.first) + 1; }

}  // namespace

std::optional<IterationSet> IterationSet::parse(std::string_view text, std::uint64_t most) {
  IterationSet set;
  const auto take = [&](const Range& range) {
    if (range.last == IndexList::kOpen || sizeOf(range) > most - set.size()) return false;
    set.add(range);
    return true;
  };
  if (const auto range = oneRange(text)) return take(*range) ? std::optional(std::move(set)) : std::nullopt;
  const auto list = IndexList::parse(text);
  if (!list.ok() || !std::ranges::all_of(list->ranges(), take)) return std::nullopt;
  return set;
}

void IterationSet::add(Range range) {
  if (m_ranges.empty() || m_ranges.back().last < range.first) {
    m_size += sizeOf(range);
    if (!m_ranges.empty() && m_ranges.back().last + 1 == range.first)
      m_ranges.back().last = range.last;
    else
      m_ranges.push_back(range);
    return;
  }
  const auto first = std::ranges::lower_bound(m_ranges, range.first - 1, {}, &Range::last);
  auto end = first;
  for (; end != m_ranges.end() && end->first - 1 <= range.last; ++end) {
    range.first = std::min(range.first, end->first);
    range.last = std::max(range.last, end->last);
    m_size -= sizeOf(*end);
  }
  m_size += sizeOf(range);
  m_ranges.insert(m_ranges.erase(first, end), range);
}

bool IterationSet::contains(std::int64_t number) const {
  const auto at = std::ranges::lower_bound(m_ranges, number, {}, &Range::last);
  return at != m_ranges.end() && at->first <= number;
}

bool IterationSet::contains(const IterationSet& other) const {
  return std::ranges::all_of(other.m_ranges, [&](const Range& range) {
    const auto at = std::ranges::lower_bound(m_ranges, range.last, {}, &Range::last);
    return at != m_ranges.end() && at->first <= range.first;
  });
}

std::string IterationSet::text() const {
  return m_ranges.empty() ? std::string() : IndexList(m_ranges).text();
}

}  // namespace msdbg::core
