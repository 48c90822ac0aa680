#include "dump/writer/replay_plan.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kPartsOfRoom = 8;  // the batches from one checkpoint to the next are one at most
// So much of a segment goes at least, if it can: it is written again as a whole.
constexpr std::uint64_t kPartsOfSegment = 8;

using Range = core::IterationSet::Range;

struct Checkpoint {
  std::int64_t iteration = 0;
  const KeptSegment* segment = nullptr;
};

// Everything there is, in the order of iterations. Segments that were thinned lie between each other.
class Replay {
 public:
  Replay(std::span<const KeptSegment> segments, const core::IterationSet& anew) {
    std::vector<Range> ranges;
    for (const KeptSegment& segment : segments) {
      for (const std::int64_t iteration : segment.checkpoints) m_checkpoints.push_back({iteration, &segment});
      std::ranges::copy(segment.batches.ranges(), std::back_inserter(ranges));
    }
    std::ranges::sort(m_checkpoints, {}, &Checkpoint::iteration);
    std::ranges::sort(ranges, {}, &Range::first);
    core::IterationSet batches;
    for (const Range& range : ranges) batches.add(range);
    for (Range range : batches.ranges()) {
      for (const std::int64_t start : anew)
        if (range.first < start && start <= range.last)
          m_rows.push_back({range.first, start - 1}), range.first = start;
      m_rows.push_back(range);
    }
  }

  const std::vector<Checkpoint>& checkpoints() const { return m_checkpoints; }
  void remove(std::size_t checkpoint) {
    m_checkpoints.erase(m_checkpoints.begin() + static_cast<std::ptrdiff_t>(checkpoint));
  }
  // All from `first` to `last`, both included, have a batch.
  bool unbroken(std::int64_t first, std::int64_t last) const {
    const auto at =
        std::ranges::partition_point(m_rows, [&](const Range& range) { return range.last < first; });
    return at != m_rows.end() && at->first <= first && last <= at->last;
  }
  // The part of each unbroken row of batches before its first checkpoint.
  core::IterationSet withoutStart() const {
    core::IterationSet all;
    for (const Range& range : m_rows) {
      const auto start = std::ranges::lower_bound(m_checkpoints, range.first, {}, &Checkpoint::iteration);
      const bool some = start != m_checkpoints.end() && start->iteration <= range.last;
      if (!some)
        all.add(range);
      else if (start->iteration > range.first)
        all.add({range.first, start->iteration - 1});
    }
    return all;
  }

 private:
  std::vector<Checkpoint> m_checkpoints;
  std::vector<Range> m_rows;  // of batches, each of which follows from the one before
};

class Planner {
 public:
  Planner(std::span<const KeptSegment> segments, const ReplayNeed& need)
      : m_segments(segments),
        m_need(need),
        m_replay(segments, need.anew),
        m_batchBytes(batchBytesOf(segments)) {
    pin();
  }

  ReplayPlan plan() {
    ReplayPlan found = useless();
    if (m_need.bytes == 0) return found;
    if (found.empty()) found = everySecond();
    if (found.empty()) found = oldest();
    return found;
  }

 private:
  void pin() {
    const std::vector<Checkpoint>& all = m_replay.checkpoints();
    const auto next = std::ranges::upper_bound(all, m_need.fault, {}, &Checkpoint::iteration);
    if (m_need.fault < 0 || next == all.begin()) return;
    const Checkpoint& from = *std::prev(next);
    if (!m_replay.unbroken(from.iteration, m_need.fault)) return;
    const std::uint64_t state = from.segment->stateBytes / from.segment->checkpoints.size(),
                        batches =
                            static_cast<std::uint64_t>(m_need.fault + 1 - from.iteration) * m_batchBytes;
    if (state + batches <= m_need.room / 2) m_pinned = {from.iteration, m_need.fault};
  }
  bool isPinned(std::int64_t iteration) const {
    return m_pinned && m_pinned->first <= iteration && iteration <= m_pinned->last;
  }

  bool mayGo(const KeptSegment& segment) const {
    return !segment.values && !segment.replayStays && (m_need.newestToo || &segment != &m_segments.back());
  }
  std::uint64_t enough(const KeptSegment& segment) const {
    return std::max(m_need.bytes, segment.replayBytes / kPartsOfSegment);
  }

  ReplayPlan useless() const {
    const core::IterationSet all = m_replay.withoutStart();
    for (const KeptSegment& segment : m_segments) {
      if (all.empty() || !mayGo(segment) || segment.batches.empty()) continue;
      ReplayPlan plan{.segment = segment.segment, .checkpoints = {}, .batches = {}};
      for (const std::int64_t iteration : segment.batches)
        if (all.contains(iteration)) plan.batches.push_back(iteration);
      if (!plan.batches.empty()) return plan;
    }
    return {};
  }

  // Where the distance of its neighbours is least, compared with how long ago that was; the oldest of equals.
  std::optional<std::size_t> mostCrowded() const {
    const std::vector<Checkpoint>& all = m_replay.checkpoints();
    std::optional<std::size_t> best;
    double least = 0;
    for (std::size_t i = 1; i + 1 < all.size(); ++i) {
      const std::int64_t before = all[i - 1].iteration, after = all[i + 1].iteration;
      const auto apart = static_cast<std::uint64_t>(after - before);
      if (!mayGo(*all[i].segment) || isPinned(all[i].iteration) ||
          apart * m_batchBytes > m_need.room / kPartsOfRoom || !m_replay.unbroken(before, all[i].iteration))
        continue;
      const double score =
          static_cast<double>(apart) / static_cast<double>(m_segments.back().last + 1 - before);
      if (!best || score < least) best = i, least = score;
    }
    return best;
  }

  ReplayPlan everySecond() {
    ReplayPlan plan;
    std::vector<std::int64_t> gone;
    std::uint64_t bytes = 0;
    while (const auto next = mostCrowded()) {
      const Checkpoint checkpoint = m_replay.checkpoints()[*next];
      const KeptSegment& segment = *checkpoint.segment;
      if (!plan.empty() && (plan.segment != segment.segment || bytes >= enough(segment))) break;
      plan.segment = segment.segment;
      gone.push_back(checkpoint.iteration);
      bytes += segment.stateBytes / segment.checkpoints.size();
      m_replay.remove(*next);
    }
    plan.checkpoints = gone;
    return plan;
  }

  // The oldest checkpoint and its batches, as far as they lie in the oldest segment. Of those in the next
  // ones it is then known that nothing leads to them.
  ReplayPlan oldest() const {
    const auto some = [&](const core::IterationSet& all) {
      return std::ranges::any_of(all.numbers(), [&](std::int64_t each) { return !isPinned(each); });
    };
    const auto segment = std::ranges::find_if(m_segments, [&](const KeptSegment& each) {
      return mayGo(each) && (some(each.checkpoints) || some(each.batches));
    });
    if (segment == m_segments.end()) return {};
    ReplayPlan plan{.segment = segment->segment, .checkpoints = {}, .batches = {}};
    const std::vector<Checkpoint>& all = m_replay.checkpoints();
    for (std::size_t next = 1; next <= all.size(); ++next) {
      const bool isLast = next == all.size();
      if (isLast && !m_need.newestToo) break;
      const std::int64_t end = isLast ? INT64_MAX : all[next].iteration;
      plan.checkpoints = before(segment->checkpoints, end);
      plan.batches = before(segment->batches, end);
      const std::uint64_t state =
          segment->checkpoints.empty()
              ? 0
              : segment->stateBytes / segment->checkpoints.size() * plan.checkpoints.size();
      const bool everything = plan.checkpoints.size() == segment->checkpoints.size() &&
                              plan.batches.size() == segment->batches.size();
      if (everything || state + m_batchBytes * plan.batches.size() >= enough(*segment)) break;
    }
    return plan.checkpoints.empty() && plan.batches.empty() ? ReplayPlan() : plan;
  }

  core::IterationSet before(const core::IterationSet& all, std::int64_t end) const {
    core::IterationSet some;
    for (const std::int64_t iteration : all)
      if (iteration < end && !isPinned(iteration)) some.push_back(iteration);
    return some;
  }

  std::span<const KeptSegment> m_segments;
  const ReplayNeed& m_need;
  Replay m_replay;
  std::uint64_t m_batchBytes;
  std::optional<Range> m_pinned;
};

}  // namespace

std::uint64_t batchBytesOf(std::span<const KeptSegment> segments) {
  std::uint64_t bytes = 0, count = 0;
  for (const KeptSegment& segment : segments) {
    bytes += segment.batchBytes;
    count += segment.batches.size();
  }
  return count == 0 ? 0 : bytes / count;
}

ReplayPlan planReplay(std::span<const KeptSegment> segments, const ReplayNeed& need) {
  return segments.empty() ? ReplayPlan() : Planner(segments, need).plan();
}

}  // namespace msdbg::dump
