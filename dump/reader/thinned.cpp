// RunReader: what thinning left, iteration by iteration and in sum.
#include <algorithm>
#include <map>

#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {
namespace {

using Part = std::pair<const std::int64_t, IterationMap::Part>;

// Where the statistics of a range are, whole or not.
bool isWhole(const RankIndex& index, const Part& part) {
  return index.segments[part.second.segment].thinned <= 0;
}

void countWhole(const RankIndex& index, RunReader::Thinning& thinning) {
  auto part = thinning.parts.rbegin();
  for (const auto& [first, range] : index.segmentOf.parts()) {
    if (index.segments[range.segment].thinned > 0) continue;
    for (std::int64_t iteration = first; iteration <= range.last; ++iteration) {
      while (part != thinning.parts.rend() && part->last < iteration) ++part;
      if (part == thinning.parts.rend())
        ++thinning.whole;
      else if (iteration % part->step != 0)
        ++thinning.others;
    }
  }
}

}  // namespace

bool RunReader::thinned(core::Rank rank, core::Iteration iteration) const {
  const SegmentLine* line = m_impl->lineOf(rank, iteration);
  return line && line->thinned > 0;
}

std::optional<core::Iteration> RunReader::nearestWhole(core::Rank rank, core::Iteration iteration) const {
  return m_impl->nearestWhole(rank, iteration);
}

std::optional<core::Iteration> RunReader::Impl::nearestWhole(core::Rank rank,
                                                             core::Iteration iteration) const {
  const auto known = ranks.find(rank.value);
  if (known == ranks.end()) return std::nullopt;
  const auto& parts = known->second.segmentOf.parts();
  const auto whole = [&](const Part& part) { return isWhole(known->second, part); };
  const auto from = parts.upper_bound(iteration.value);
  const auto later = std::find_if(from, parts.end(), whole);
  const auto earlier = std::find_if(std::make_reverse_iterator(from), parts.rend(), whole);
  std::optional<core::Iteration> nearest;
  if (earlier != parts.rend()) nearest = core::Iteration(std::min(earlier->second.last, iteration.value));
  if (later == parts.end()) return nearest;
  const bool closer = !nearest || later->first - iteration.value < iteration.value - nearest->value;
  return closer ? core::Iteration(later->first) : nearest;
}

core::Error RunReader::Impl::wasThinned(core::Rank rank, core::Iteration iteration,
                                        core::TensorId tensor) const {
  const auto nearest = nearestWhole(rank, iteration);
  return notRecorded(rank, iteration, tensor,
                     "was thinned to keep within --max-size" +
                         (nearest ? "; the nearest is iteration " + std::to_string(nearest->value) : ""));
}

RunReader::Thinning RunReader::thinning(core::Rank rank) const {
  Thinning found;
  const auto known = m_impl->ranks.find(rank.value);
  if (known == m_impl->ranks.end()) return found;
  const RankIndex& index = known->second;
  std::map<std::int64_t, std::int64_t> lastOf;  // iteration that went where every so many-th stayed
  for (const auto& [first, part] : index.segmentOf.parts())
    if (const std::int64_t step = index.segments[part.segment].thinned; step > 0) lastOf[step] = part.last;
  if (lastOf.empty()) return found;
  std::int64_t next = index.iterations.front();
  for (auto at = lastOf.rbegin(); at != lastOf.rend(); ++at) {  // the oldest first: they thinned most often
    if (at->second < next) continue;
    found.parts.insert(found.parts.begin(), {at->first, next, at->second});
    next = at->second + 1;
  }
  countWhole(index, found);
  return found;
}

core::Result<core::Hash128> RunReader::digest(core::Rank rank, core::Iteration iteration) {
  const Impl::Found& place = m_impl->find(rank, iteration);
  if (place.failure) return *place.failure;
  const auto digests = place.segment->reader->digests();
  if (!digests.ok()) return m_impl->damaged(rank, iteration, digests.error());
  if (digests->empty())
    return core::Error(core::ErrorCode::kUnavailable,
                       "no digest is recorded (" + placeText(rank, iteration) + ")");
  return (*digests)[place.row];
}

}  // namespace msdbg::dump
