#include "dump/writer/retention.h"

#include <algorithm>

#include "dump/writer/merge_plan.h"
#include "dump/writer/replay_plan.h"
#include "dump/writer/thinning_plan.h"

namespace msdbg::dump {
namespace {

// A merged file with values is a small part of what is kept, so that dropping it keeps nearly all of the
// rest.
constexpr std::uint64_t kPartsOfBudget = 16;
constexpr std::uint64_t kPartsOfReplay = 4;  // the batches since the newest checkpoint are one at most
constexpr std::int64_t kPartsOfLast = 8;
// What is merged or thinned at a time, of statistics: until the old files are gone it takes room twice.
constexpr std::uint64_t kPartsOfStatistics = 8;
constexpr std::uint64_t kLeastTogether = 128u << 10;

}  // namespace

std::size_t Retention::find(std::int64_t segment) const {
  return static_cast<std::size_t>(std::ranges::find(m_segments, segment, &KeptSegment::segment) -
                                  m_segments.begin());
}

void Retention::count(const KeptSegment& segment, bool there) {
  const std::uint64_t bytes = there ? segment.bytes : -segment.bytes;
  m_bytes += bytes;
  if (segment.values) {
    m_valueBytes += bytes;
    return;
  }
  m_replayBytes += there ? segment.bytes - segment.rowBytes() : segment.rowBytes() - segment.bytes;
  if (segment.bare) m_bareBytes += there ? segment.rowBytes() : -segment.rowBytes();
}

void Retention::add(const KeptSegment& segment) {
  m_segments.push_back(segment);
  count(segment, true);
}

// Segments that were thinned lie between others, so neighbours of a kind need not follow each other.
void Retention::thin(std::span<const std::int64_t> old, std::span<const KeptSegment> segments) {
  std::erase_if(m_segments, [&](const KeptSegment& segment) {
    if (std::ranges::find(old, segment.segment) == old.end()) return false;
    count(segment, false);
    return true;
  });
  for (const KeptSegment& segment : segments) {
    count(segment, true);
    m_segments.insert(std::ranges::upper_bound(m_segments, segment.first, {}, &KeptSegment::first), segment);
  }
}

void Retention::replace(std::span<const std::int64_t> old, const KeptSegment& segment) {
  thin(old, {&segment, 1});
}

void Retention::cannotThin(std::span<const std::int64_t> segments) {
  for (const std::int64_t segment : segments) m_segments[find(segment)].stays = true;
}

std::uint64_t Retention::leastBytes() const { return m_bareBytes + m_otherBytes; }

void Retention::cannotMerge(std::span<const std::int64_t> segments) {
  for (const std::int64_t segment : segments) m_segments[find(segment)].alone = true;
}

void Retention::cannotDrop(std::int64_t number) {
  KeptSegment& segment = m_segments[find(number)];
  count(segment, false);
  segment.values = false;
  segment.alone = segment.replayStays = true;
  count(segment, true);
}

bool Retention::wantsCheckpoint() const {
  std::int64_t count = 0, newest = 0;
  std::uint64_t state = 0;
  for (const KeptSegment& segment : m_segments) {
    state += segment.stateBytes;
    count += static_cast<std::int64_t>(segment.checkpoints.size());
    if (!segment.checkpoints.empty()) newest = std::max(newest, segment.checkpoints.back());
  }
  if (count == 0) return true;
  const std::uint64_t batch = batchBytesOf(m_segments), most = roomForReplay() / kPartsOfReplay;
  const auto since = static_cast<std::uint64_t>(m_segments.back().last - newest);
  if (batch > 0 && since > most / batch && state / static_cast<std::uint64_t>(count) <= most) return true;
  const KeptSegment& last = m_segments.back();
  const std::uint64_t more = 3 * (last.values ? last.replayBytes : last.bytes);
  return count == 1 && newest < last.first && exceeds({.incoming = more});
}

bool Retention::unwanted(std::int64_t number) const { return keep(segment(number)) == Keep::kNo; }

Keep Retention::keep(const KeptSegment& segment) const {
  return m_rules.keep ? m_rules.keep(segment.first, segment.last) : Keep::kYes;
}

// Else statistics, which stay for ever, would leave a long run without any values in the end.
std::uint64_t Retention::roomForValues() const {
  const std::uint64_t statistics = m_bytes - m_valueBytes + m_otherBytes;
  const std::uint64_t left = m_rules.maxBytes - std::min(m_rules.maxBytes, statistics);
  return std::max(left, m_rules.maxBytes / 4);
}

bool Retention::overBudget(std::uint64_t incoming) const { return m_valueBytes + incoming > roomForValues(); }

bool Retention::anyLast() const {
  return std::ranges::any_of(m_segments,
                             [this](const KeptSegment& s) { return s.values && keep(s) == Keep::kLast; });
}

std::uint64_t Retention::olderBytes() const {
  std::uint64_t bytes = 0;
  const auto newest = std::find_if(m_segments.rbegin(), m_segments.rend(),
                                   [](const KeptSegment& each) { return !each.checkpoints.empty(); });
  for (const KeptSegment& segment : m_segments) {
    const bool older = newest != m_segments.rend() && segment.last < newest->first && !segment.replayStays;
    // A checkpoint lies in the values as long as these are there.
    if (segment.values)
      bytes += segment.tensorBytes - std::min(segment.tensorBytes, older ? 0 : segment.stateBytes);
    if (older) bytes += segment.replayBytes;
  }
  return bytes;
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

static std::uint64_t togetherOf(std::uint64_t budget) {
  return std::min(kLargestMerge, std::max(budget / kPartsOfStatistics, kLeastTogether));
}

std::uint64_t Retention::forValues() const { return m_valueBytes > 0 ? m_rules.maxBytes / 4 : 0; }

// Checkpoints and batches go after statistics, but leave them some quarters of what there is for both.
std::uint64_t Retention::roomForStatistics(const Need& need) const {
  if (need.disk > 0) return statisticsBytes() - std::min(statisticsBytes(), need.disk);
  const std::uint64_t rows = need.incoming - need.replay;
  const std::uint64_t both = m_rules.maxBytes - std::min(m_rules.maxBytes, leastBytes() + rows + forValues());
  return std::max(both - std::min(both, m_replayBytes + need.replay),
                  both / 4 * static_cast<std::uint64_t>(m_rules.quartersForRows));
}

// Where there are no values the newest checkpoint and its batches are what a quarter is kept for: a long run
// must not end without any.
std::uint64_t Retention::roomForReplay() const {
  const std::uint64_t others = leastBytes() + statisticsBytes() + forValues();
  return std::max(m_rules.maxBytes - std::min(m_rules.maxBytes, others),
                  m_valueBytes > 0 ? 0 : m_rules.maxBytes / 4);
}

bool Retention::statisticsExceed(const Need& need) const {
  return statisticsBytes() > roomForStatistics(need);
}

ThinningPlan Retention::nextThinning(const Need& need) const {
  return planThinning(m_segments, roomForStatistics(need), togetherOf(m_rules.maxBytes));
}

bool Retention::exceeds(const Need& need) const {
  return need.disk > 0 || m_replayBytes + need.incoming > roomForReplay();
}

std::int64_t Retention::firstFault() const {
  const auto fault = std::ranges::find(m_segments, Keep::kLast, [this](const auto& s) { return keep(s); });
  return fault == m_segments.end() ? -1 : fault->last;
}

ReplayPlan Retention::nextReplay(const Need& need, Newest newest) const {
  if (m_replayBytes == 0 || !exceeds(need)) return {};
  const std::uint64_t room = roomForReplay(), all = m_replayBytes + need.incoming;
  return planReplay(m_segments,
                    {.bytes = std::max(need.disk, all - std::min(all, room)),
                     .room = room,
                     .anew = m_anew,
                     .fault = firstFault(),
                     .newestToo = newest == Newest::kMayGo && (need.incoming > 0 || need.disk > 0)});
}

ReplayPlan Retention::nextUseless() const { return planReplay(m_segments, {.anew = m_anew}); }

std::vector<std::int64_t> Retention::nextMerge() const {
  MergeLimits limits;
  limits.statisticsBytes = togetherOf(m_rules.maxBytes);
  limits.valueBytes = m_rules.maxBytes / kPartsOfBudget;
  if (m_rules.keepLast > 0) limits.valueIterations = m_rules.keepLast / kPartsOfLast;
  limits.mayMerge = [this](const KeptSegment& segment) {
    return !segment.values || keep(segment) >= Keep::kYes;
  };
  return planMerge(m_segments, limits);
}

}  // namespace msdbg::dump
