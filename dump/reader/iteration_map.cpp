#include "dump/reader/iteration_map.h"

namespace msdbg::dump {

// What others have of the range goes; of one that reaches beyond it, the rest stays.
void IterationMap::assign(Range range, std::size_t segment) {
  auto at = m_parts.lower_bound(range.first);
  if (at != m_parts.begin() && std::prev(at)->second.last >= range.first) {
    Part& before = std::prev(at)->second;
    const Part whole = before;
    before.last = range.first - 1;
    if (whole.last > range.last) at = m_parts.emplace(range.last + 1, whole).first;
  }
  while (at != m_parts.end() && at->first <= range.last) {
    const Part part = at->second;
    at = m_parts.erase(at);
    if (part.last > range.last) at = m_parts.emplace(range.last + 1, part).first;
  }
  m_parts.emplace_hint(at, range.first, Part{range.last, segment});
}

std::optional<std::size_t> IterationMap::find(std::int64_t iteration) const {
  const auto after = m_parts.upper_bound(iteration);
  if (after == m_parts.begin()) return std::nullopt;
  const Part& part = std::prev(after)->second;
  return iteration <= part.last ? std::optional(part.segment) : std::nullopt;
}

}  // namespace msdbg::dump
