#include "dump/writer/retention.h"

#include <algorithm>

#include "dump/writer/merge_plan.h"

namespace msdbg::dump {
namespace {

// A merged file with values is a small part of what is kept, so that dropping it keeps nearly all of the
// rest.
constexpr std::uint64_t kPartsOfBudget = 16;
constexpr std::int64_t kPartsOfLast = 8;

}  // namespace

std::size_t Retention::find(std::int64_t segment) const {
  return static_cast<std::size_t>(std::ranges::find(m_segments, segment, &KeptSegment::segment) -
                                  m_segments.begin());
}

void Retention::count(const KeptSegment& segment, bool there) {
  const std::uint64_t bytes = there ? segment.bytes : -segment.bytes;
  m_bytes += bytes;
  if (segment.values) m_valueBytes += bytes;
}

void Retention::add(const KeptSegment& segment) {
  m_segments.push_back(segment);
  count(segment, true);
}

void Retention::replace(std::span<const std::int64_t> old, const KeptSegment& segment) {
  const std::size_t first = find(old.front());
  for (std::size_t i = first; i < first + old.size(); ++i) count(m_segments[i], false);
  count(segment, true);
  m_segments[first] = segment;
  const auto second = m_segments.begin() + static_cast<std::ptrdiff_t>(first) + 1;
  m_segments.erase(second, second + static_cast<std::ptrdiff_t>(old.size()) - 1);
}

void Retention::cannotMerge(std::span<const std::int64_t> segments) {
  for (const std::int64_t segment : segments) m_segments[find(segment)].alone = true;
}

void Retention::cannotDrop(std::int64_t number) {
  KeptSegment& segment = m_segments[find(number)];
  count(segment, false);
  segment.values = false;
  segment.alone = true;
  count(segment, true);
}

bool Retention::wantsCheckpoint() const {
  if (std::ranges::none_of(m_segments, &KeptSegment::checkpoint)) return true;
  const auto oldest = std::ranges::find_if(
      m_segments, [this](const KeptSegment& s) { return s.values && keep(s) < Keep::kLate; });
  if (oldest == m_segments.end() || oldest + 1 == m_segments.end()) return false;
  if (std::any_of(oldest + 1, m_segments.end(), [](const KeptSegment& s) { return s.checkpoint; }))
    return false;
  const KeptSegment& newest = m_segments.back();
  std::int64_t newer = 3 * newest.iterations;
  for (auto segment = oldest + 1; segment != m_segments.end(); ++segment) newer += segment->iterations;
  return overBudget(3 * newest.bytes) || (m_rules.keepLast > 0 && newer >= m_rules.keepLast);
}

Keep Retention::keep(const KeptSegment& segment) const {
  return m_rules.keep ? m_rules.keep(segment.first, segment.last) : Keep::kYes;
}

// Else statistics, which stay for ever, would leave a long run without any values in the end.
bool Retention::overBudget(std::uint64_t incoming) const {
  const std::uint64_t statistics = m_bytes - m_valueBytes;
  const std::uint64_t left = m_rules.maxBytes - std::min(m_rules.maxBytes, statistics);
  return m_valueBytes + incoming > std::max(left, m_rules.maxBytes / 4);
}

bool Retention::anyLast() const {
  return std::ranges::any_of(m_segments,
                             [this](const KeptSegment& s) { return s.values && keep(s) == Keep::kLast; });
}

std::optional<std::int64_t> Retention::nextDrop(std::uint64_t incoming, bool diskShort) const {
  const bool before = incoming > 0;
  const bool newestToo = diskShort || before || (overBudget(0) && anyLast());
  const bool tooMuch = diskShort || (before ? overBudget(incoming) : newestToo);
  std::optional<std::pair<Keep, std::int64_t>> next;
  std::int64_t newer = 0;
  for (const KeptSegment& segment : m_segments) newer += segment.iterations;
  for (const KeptSegment& segment : m_segments) {
    newer -= segment.iterations;
    if (!segment.values) continue;
    const Keep rule = keep(segment);
    if (rule == Keep::kNo || (m_rules.keepLast > 0 && newer >= m_rules.keepLast)) return segment.segment;
    // Just added, it had the room that older ones could make: the newest values are the last to go.
    if (!tooMuch || (newer == 0 && !newestToo) || (rule == Keep::kLast && !diskShort)) continue;
    const Keep order = std::max(rule, Keep::kYes);
    if (!next || order < next->first) next = {order, segment.segment};
  }
  return next ? std::optional(next->second) : std::nullopt;
}

std::vector<std::int64_t> Retention::nextMerge() const {
  MergeLimits limits;
  limits.valueBytes = m_rules.maxBytes / kPartsOfBudget;
  if (m_rules.keepLast > 0) limits.valueIterations = m_rules.keepLast / kPartsOfLast;
  limits.mayMerge = [this](const KeptSegment& segment) {
    return !segment.values || keep(segment) >= Keep::kYes;
  };
  return planMerge(m_segments, limits);
}

}  // namespace msdbg::dump
