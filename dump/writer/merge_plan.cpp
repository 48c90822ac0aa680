#include "dump/writer/merge_plan.h"

#include <algorithm>
#include <map>

namespace msdbg::dump {
namespace {

constexpr std::int64_t kMostIterations = 1 << 16;      // the journal lists them, a reader keeps a map of them
constexpr std::size_t kMostMembers = 4 * kMergeWidth;  // files that are open at a time

// Segments that were thinned equally often, and still hold statistics or not: in time each of these kinds
// lies between the others, and its neighbours are those of its kind. One that became around others, and then
// of their kind, stays apart from these.
struct Kind {
  bool bare = false;
  std::int64_t step = 1;
  auto operator<=>(const Kind&) const = default;
};

Kind kindOf(const KeptSegment& segment) { return {segment.bare, segment.step}; }

// Whether two neighbours may be in one file at all: its iterations ascend. Statistics that had values and
// others that never had stay apart: the journal says of a whole segment that its values were dropped.
bool akin(const KeptSegment& a, const KeptSegment& b) {
  return !a.alone && a.last < b.first && a.graph == b.graph && a.dropped == b.dropped;
}

// Neighbours that would fit into one file: some of a level, and what lies between them of lower ones.
class Row {
 public:
  Row(const MergeLimits& limits, int level) : m_limits(&limits), m_level(level) {}

  bool takes(const KeptSegment& next) const {
    if (next.level > m_level) return false;
    if (m_members.empty()) return next.level == m_level;
    const bool replay = m_replay || next.replayBytes > 0, values = m_values || next.values;
    return akin(*m_last, next) && m_bytes + next.bytes <= mostBytes(values || replay) &&
           m_iterations + next.iterations <= mostIterations(values);
  }
  void add(const KeptSegment& next) {
    m_members.push_back(next.segment);
    m_bytes += next.bytes;
    m_iterations += next.iterations;
    m_values = m_values || next.values;
    m_replay = m_replay || next.replayBytes > 0;
    m_ofLevel += next.level == m_level;
    m_last = &next;
  }
  bool complete() const { return m_ofLevel == m_limits->width || m_members.size() == kMostMembers; }
  /// More of its kind would not fit.
  bool nearlyFull() const {
    return m_members.size() > 1 &&
           (m_bytes > mostBytes(m_values || m_replay) / 2 || m_iterations > mostIterations(m_values) / 2);
  }
  const std::vector<std::int64_t>& members() const { return m_members; }

 private:
  std::uint64_t mostBytes(bool parts) const {
    return std::min(parts ? m_limits->valueBytes : m_limits->statisticsBytes, kLargestMerge);
  }
  std::int64_t mostIterations(bool values) const {
    return values ? std::min(m_limits->valueIterations, kMostIterations) : kMostIterations;
  }

  const MergeLimits* m_limits;
  int m_level;
  std::vector<std::int64_t> m_members;
  std::size_t m_ofLevel = 0;
  std::uint64_t m_bytes = 0;
  std::int64_t m_iterations = 0;
  bool m_values = false, m_replay = false;
  const KeptSegment* m_last = nullptr;
};

std::vector<std::int64_t> planLevel(std::span<const KeptSegment> segments, const MergeLimits& limits,
                                    int level, const Kind& kind) {
  Row row(limits, level);
  for (const KeptSegment& segment : segments) {
    if (kindOf(segment) != kind) continue;
    const bool allowed = !limits.mayMerge || limits.mayMerge(segment);
    if (!allowed || !row.takes(segment)) {
      if (allowed && segment.level <= level && row.nearlyFull()) return row.members();
      row = Row(limits, level);
    }
    if (!allowed || !row.takes(segment)) continue;
    row.add(segment);
    if (row.complete()) return row.members();
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> planMerge(std::span<const KeptSegment> segments, const MergeLimits& limits) {
  std::map<Kind, int> highest;  // level of each kind
  for (const KeptSegment& segment : segments)
    highest[kindOf(segment)] = std::max(highest[kindOf(segment)], segment.level);
  for (const auto& [kind, last] : highest) {
    for (int level = 0; level <= last; ++level) {
      std::vector<std::int64_t> plan = planLevel(segments, limits, level, kind);
      if (!plan.empty()) return plan;
    }
  }
  return {};
}

}  // namespace msdbg::dump
