#include "dump/writer/thinning_plan.h"

#include <algorithm>
#include <map>

namespace msdbg::dump {
namespace {

constexpr std::size_t kMostMembers = 32;  // files that are open at a time

// The rows that were thinned equally often.
struct Generation {
  std::uint64_t bytes = 0;
  std::vector<const KeptSegment*> mayGo;  // into `segments`, so oldest first
};

using Generations = std::map<std::int64_t, Generation>;  // by step

Generations generationsOf(std::span<const KeptSegment> segments) {
  Generations all;
  for (const KeptSegment& segment : segments) {
    if (segment.values || segment.bare) continue;
    Generation& generation = all[segment.step];
    generation.bytes += segment.rowBytes();
    if (!segment.stays && &segment != &segments.back()) generation.mayGo.push_back(&segment);
  }
  return all;
}

// The youngest generation that has more than its share; where none has, the youngest from which any can go.
const Generation* nextGeneration(const Generations& generations, std::uint64_t room) {
  const Generation* any = nullptr;
  std::uint64_t share = room / 2;
  for (const auto& [step, generation] : generations) {
    if (!generation.mayGo.empty() && generation.bytes > share) return &generation;
    if (!any && !generation.mayGo.empty()) any = &generation;
    share /= 2;
  }
  return any;
}

bool goTogether(const KeptSegment& a, const KeptSegment& b) {
  return !a.alone && !b.alone && a.last < b.first && a.graph == b.graph && a.dropped == b.dropped;
}

}  // namespace

ThinningPlan planThinning(std::span<const KeptSegment> segments, std::uint64_t room, std::uint64_t together) {
  const Generations generations = generationsOf(segments);
  std::uint64_t bytes = 0;
  for (const auto& [step, generation] : generations) bytes += generation.bytes;
  const Generation* next = bytes > room ? nextGeneration(generations, room) : nullptr;
  if (!next) return {};
  // Nine tenths of it go. Some more than is needed, so that it is not asked again for every segment.
  const std::uint64_t enough = std::max((bytes - room) / 9 * 10, together / 2);
  ThinningPlan plan{.segments = {}, .step = next->mayGo.front()->step};
  std::uint64_t taken = 0, rows = 0;
  const KeptSegment* last = nullptr;
  for (const KeptSegment* segment : next->mayGo) {
    const bool first = plan.segments.empty();
    const bool fits = first || (goTogether(*last, *segment) && taken + segment->bytes <= together &&
                                plan.segments.size() < kMostMembers);
    if (!first && (rows >= enough || !fits)) break;
    plan.segments.push_back(segment->segment);
    last = segment;
    taken += segment->bytes;
    rows += segment->rowBytes();
  }
  return plan;
}

}  // namespace msdbg::dump
