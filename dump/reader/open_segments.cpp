#include <algorithm>

#include "dump/reader/run_reader_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kOpenSegments = 64;
constexpr std::size_t kStatisticsBytes = 512u << 20;

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
                                std::vector<std::int64_t> iterations) {
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
  const auto at = index->second.segmentOf.find(iteration.value);
  return at == index->second.segmentOf.end() ? nullptr : &index->second.segments[at->second];
}

void RunReader::Impl::closeOldest() {
  const OpenSegment& oldest = open.back();
  if (oldest.statistics) statisticsBytes -= oldest.statistics->bytes();
  openByKey.erase(oldest.key);
  open.pop_back();
}

RunReader::Impl::OpenSegment& RunReader::Impl::openSegment(const RankIndex& index, const SegmentLine& line) {
  const Key key{index.rank.value, line.file};
  if (const auto at = openByKey.find(key); at != openByKey.end()) {
    open.splice(open.begin(), open, at->second);
    if (open.front().reader || open.front().failure) return open.front();
  } else {
    open.emplace_front().key = key;
    openByKey[key] = open.begin();
  }
  auto reader = SegmentReader::open(index.folder / line.file, line.bytes);
  if (reader.ok() && (*reader)->iterations() != line.iterations) {
    reader = core::Error(core::ErrorCode::kDamaged, "its iterations are not those that the journal lists");
  }
  if (reader.ok())
    open.front().reader = std::move(*reader);
  else
    open.front().failure = reader.error();
  // Statistics are worth more than open files: those are only closed, the tables stay while there is room.
  std::size_t files = 0;
  for (OpenSegment& segment : open) {
    if (segment.reader && ++files > kOpenSegments) segment.reader.reset();
  }
  return open.front();
}

// While the run is recorded, a segment may be replaced between our reading of the journal and now.
bool RunReader::Impl::reload(core::Rank rank) {
  auto fresh = loadRank(folder, rank.value);
  if (!fresh.ok()) return false;
  ranks.insert_or_assign(rank.value, std::move(*fresh));
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
  if (line) addDamage(ranks.at(rank.value), *line, *found->failure, line->iterations);
  return core::Error(core::ErrorCode::kDamaged, folder.string() + ": rank_" + std::to_string(rank.value) +
                                                    "/" + found->key.file + ": " + found->failure->message());
}

core::Result<const StatisticsTable*> RunReader::Impl::statistics(const RankIndex& index,
                                                                 const SegmentLine& line,
                                                                 OpenSegment& segment) {
  if (segment.statistics) return &*segment.statistics;
  if (!segment.statisticsFailure) {
    auto table = segment.reader->statistics();
    if (table.ok()) {
      segment.column.assign(graph.tensors().size(), -1);
      for (std::size_t c = 0; c < table->names.size(); ++c) {
        const auto id = graph.findTensor(table->names[c]);
        if (id) segment.column[id->index()] = static_cast<std::int64_t>(c);
      }
      statisticsBytes += table->bytes();
      segment.statistics = std::move(*table);
      while (statisticsBytes > kStatisticsBytes && &open.back() != &segment) closeOldest();
      return &*segment.statistics;
    }
    segment.statisticsFailure = table.error();
    addDamage(index, line, table.error(), line.iterations);
  }
  return core::Error(core::ErrorCode::kDamaged, folder.string() + ": rank_" +
                                                    std::to_string(index.rank.value) + "/" + line.file +
                                                    ": " + segment.statisticsFailure->message());
}

core::Error RunReader::Impl::notRecorded(core::Rank rank, core::Iteration iteration, core::TensorId tensor,
                                         const std::string& why) const {
  return {core::ErrorCode::kUnavailable,
          graph.tensor(tensor).fullName() + " " + why + " (" + placeText(rank, iteration) +
              (ranks.at(rank.value).incomplete(iteration.value) ? ", which was interrupted)" : ")")};
}

core::Result<const core::Graph*> RunReader::Impl::graphOf(std::int64_t version) {
  if (version == graph.version()) return &graph;
  const auto known = olderGraphs.find(version);
  if (known != olderGraphs.end()) return &known->second;
  auto loaded = loadGraph(folder, version);
  if (!loaded.ok()) return loaded.error();
  return &olderGraphs.emplace(version, std::move(*loaded)).first->second;
}

core::Result<const core::TensorInfo*> RunReader::Impl::describe(const SegmentLine& line,
                                                                core::TensorId tensor) {
  MSDBG_ASSIGN(const core::Graph* described, graphOf(line.graph));
  if (described == &graph) return &graph.tensor(tensor);
  const auto id = described->findTensor(graph.tensor(tensor).fullName());
  return id ? &described->tensor(*id) : nullptr;
}

}  // namespace msdbg::dump
