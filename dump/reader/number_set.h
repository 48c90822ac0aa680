// NumberSet: numbers most of which follow one another, kept by ranges. As core::IterationSet, but whoever
// writes a journal may name millions in any order: each costs a search, never a move of those behind it.
// Value type; not thread-safe.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace msdbg::dump {

class NumberSet {
 public:
  /// False: it was there.
  bool insert(std::int64_t number) {
    auto after = m_ranges.upper_bound(number);
    const bool first = after == m_ranges.begin();
    const auto before = first ? after : std::prev(after);
    if (!first && before->second >= number) return false;
    std::int64_t last = number;
    if (after != m_ranges.end() && after->first - 1 == number) {
      last = after->second;
      after = m_ranges.erase(after);
    }
    if (!first && before->second == number - 1)
      before->second = last;
    else
      m_ranges.emplace_hint(after, number, last);
    return true;
  }
  bool contains(std::int64_t number) const {
    const auto after = m_ranges.upper_bound(number);
    return after != m_ranges.begin() && std::prev(after)->second >= number;
  }

 private:
  std::map<std::int64_t, std::int64_t> m_ranges;  // first -> last
};

}  // namespace msdbg::dump
