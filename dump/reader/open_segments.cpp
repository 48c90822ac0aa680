#include <algorithm>
#include <utility>

#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kOpenSegments = 8;
constexpr std::size_t kLeastRowBytes = 32u << 20, kMostRowBytes = 512u << 20;

// For whoever walks through all ranks iteration by iteration and compares each with the one before.
std::size_t rowBytesFor(std::size_t ranks, std::size_t tensors) {
  const std::size_t rows = ranks * (2 * tensors + StatisticsTable::kPieceRows);
  return std::clamp(rows * sizeof(watch::StatisticsRow), kLeastRowBytes, kMostRowBytes);
}

}  // namespace

std::string placeText(core::Rank rank, core::Iteration iteration) {
  return "rank " + std::to_string(rank.value) + ", iteration " + std::to_string(iteration.value);
}

void RunReader::Impl::addDamage(Damage found) {
  if (damageSeen.emplace(found.where, found.what).second) damage.push_back(std::move(found));
}

void RunReader::Impl::forgetDamage(std::size_t first) {
  for (std::size_t i = first; i < damage.size(); ++i) damageSeen.erase({damage[i].where, damage[i].what});
  damage.resize(first);
}

// Errors of a segment begin with the dataset's path where they concern one: "/tensor/x:0: chunk 4 does not
// match its hash".
void RunReader::Impl::addDamage(const RankIndex& index, const SegmentLine& line, const core::Error& error,
                                core::IterationSet iterations) {
  std::string where = "rank_" + std::to_string(index.rank.value) + "/" + line.file, what = error.message();
  const std::size_t end = what.find(": ");
  if (what.starts_with("/") && end != std::string::npos) {
    where += ": " + what.substr(0, end);
    what.erase(0, end + 2);
  }
  addDamage({std::move(where), std::move(what), index.rank, std::move(iterations)});
}

const SegmentLine* RunReader::Impl::lineOf(core::Rank rank, core::Iteration iteration) const {
  const auto index = ranks.find(rank.value);
  if (index == ranks.end()) return nullptr;
  const auto segment = index->second.segmentOf.find(iteration.value);
  return segment ? &index->second.segments[*segment] : nullptr;
}

void RunReader::Impl::close(std::map<Key, OpenSegment>::iterator segment) {
  asked.clear();
  open.erase(segment);
}

RunReader::Impl::OpenSegment& RunReader::Impl::openSegment(const RankIndex& index, const SegmentLine& line) {
  const Key key{index.rank.value, line.file};
  const auto [at, isNew] = open.try_emplace(key);
  OpenSegment& segment = at->second;
  segment.used = ++clock;
  if (!isNew) return segment;
  segment.key = key;
  auto reader = SegmentReader::open(index.folder / line.file, line.bytes);
  if (reader.ok() && core::IterationSet((*reader)->iterations()) != line.iterations) {
    reader = core::Error(core::ErrorCode::kDamaged, "its iterations are not those that the journal lists");
  }
  if (reader.ok())
    segment.reader = std::move(*reader);
  else
    segment.failure = reader.error();
  if (open.size() > std::max(kOpenSegments, 2 * ranks.size() + 1))
    close(std::ranges::min_element(open, {}, [](const auto& each) { return each.second.used; }));
  return segment;
}

// While the run is recorded, a segment may be replaced between our reading of the journal and now. A journal
// that did not grow has nothing new to say: in a copy that lacks files, each of them would else cost a
// reading of it.
bool RunReader::Impl::reload(core::Rank rank) {
  const auto known = ranks.find(rank.value);
  if (known != ranks.end() && !known->second.tail.hasChanged(known->second.folder / "journal")) return false;
  auto fresh = loadRank(folder, rank.value);
  if (!fresh.ok()) return false;
  for (const GraphLine& line : fresh->journal.graphs) missedGraph |= !graphs.learn(rank, line);
  ranks.insert_or_assign(rank.value, std::move(*fresh));
  asked.clear();
  return true;
}

core::Result<RunReader::Impl::OpenSegment*> RunReader::Impl::segment(core::Rank rank,
                                                                     core::Iteration iteration) {
  const SegmentLine* line = lineOf(rank, iteration);
  if (!line) return core::Error(core::ErrorCode::kUnavailable, "not recorded: " + placeText(rank, iteration));
  OpenSegment* found = &openSegment(ranks.at(rank.value), *line);
  if (found->failure && found->failure->code() == core::ErrorCode::kMissing) {
    const std::string before = line->file;
    if (reload(rank) && (line = lineOf(rank, iteration)) && line->file != before) {
      found = &openSegment(ranks.at(rank.value), *line);
    }
  }
  if (!found->failure) return found;
  // Once: of a million iterations each would else make a list of all of them.
  if (line && !std::exchange(found->failureListed, true))
    addDamage(ranks.at(rank.value), *line, *found->failure, line->iterations);
  return core::Error(core::ErrorCode::kDamaged, folder.string() + ": rank_" + std::to_string(rank.value) +
                                                    "/" + found->key.file + ": " + found->failure->message());
}

core::Result<CachedTable*> RunReader::Impl::statistics(const RankIndex& index, const SegmentLine& line,
                                                       OpenSegment& segment) {
  if (segment.statistics) return &*segment.statistics;
  if (segment.statisticsFailure) return *segment.statisticsFailure;
  auto table = segment.reader->statistics();
  if (!table.ok()) return statisticsLost(index, line, segment, table.error());
  segment.nameOf.assign(graph().tensors().size(), -1);
  const core::GraphPart* part = graphs.part(index.rank, line.graph);
  for (std::size_t i = 0; i < table->names().size(); ++i) {
    const core::TensorId id = graphs.find(part, table->names()[i]);
    if (id.valid()) segment.nameOf[id.index()] = static_cast<std::int32_t>(i);
  }
  rows.setRoom(rowBytesFor(ranks.size(), graph().tensors().size()));
  return &segment.statistics.emplace(rows, std::move(*table));
}

core::Error RunReader::Impl::statisticsLost(const RankIndex& index, const SegmentLine& line,
                                            OpenSegment& segment, const core::Error& error) {
  addDamage(index, line, error, line.iterations);
  segment.statistics.reset();
  segment.statisticsFailure =
      core::Error(core::ErrorCode::kDamaged, folder.string() + ": rank_" + std::to_string(index.rank.value) +
                                                 "/" + line.file + ": " + error.message());
  return *segment.statisticsFailure;
}

const RunReader::Impl::Found& RunReader::Impl::find(core::Rank rank, core::Iteration iteration) {
  const auto isIt = [&](const Found& known) {
    return known.iteration == iteration && (known.segment || known.failure);
  };
  {
    auto& [newest, before] = asked[rank.value];
    if (isIt(newest)) return newest;
    std::swap(newest, before);
    if (isIt(newest)) return newest;
  }
  Found fresh{iteration, nullptr, 0, {}};
  if (auto opened = segment(rank, iteration); opened.ok()) {
    const auto& all = (*opened)->reader->iterations();
    fresh.segment = *opened;
    fresh.row =
        static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), iteration.value) - all.begin());
  } else {
    fresh.failure = opened.error();
  }
  return asked[rank.value][0] = std::move(fresh);
}

core::Result<const StatisticsRow*> RunReader::Impl::row(core::Rank rank, core::Iteration iteration,
                                                        core::TensorId tensor) {
  const Found& place = find(rank, iteration);
  if (place.failure) return *place.failure;
  OpenSegment& segment = *place.segment;
  segment.used = ++clock;
  if (!segment.statistics) {
    MSDBG_TRY(statistics(ranks.at(rank.value), *lineOf(rank, iteration), segment));
  }
  const std::int32_t name = segment.nameOf[tensor.index()];
  if (name < 0) return nullptr;
  auto row = segment.statistics->row(place.row, static_cast<std::size_t>(name));
  if (row.ok()) return row;
  return statisticsLost(ranks.at(rank.value), *lineOf(rank, iteration), segment, row.error());
}

core::Error RunReader::Impl::notRecorded(core::Rank rank, core::Iteration iteration, core::TensorId tensor,
                                         const std::string& why) const {
  return {core::ErrorCode::kUnavailable,
          graph().tensor(tensor).fullName() + " " + why + " (" + placeText(rank, iteration) +
              (ranks.at(rank.value).incomplete(iteration.value) ? ", which was interrupted)" : ")")};
}

}  // namespace msdbg::dump
