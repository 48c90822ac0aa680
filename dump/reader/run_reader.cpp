#include "dump/reader/run_reader.h"

#include <fcntl.h>

#include <algorithm>

#include "core_engine/base/text.h"
#include "dump/codec/sha256.h"
#include "dump/commit_file.h"
#include "dump/descriptor.h"
#include "dump/reader/run_reader_internal.h"
#include "dump/statistics_columns.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kLargestSource = 64u << 20;
constexpr const char* kNotSeen = "was not computed, or not to be recorded";

}  // namespace

void RunReader::Impl::loadSources() {
  for (const auto& [rank, index] : ranks)
    for (const GraphLine& line : index.journal.graphs)
      for (const auto& [file, digest] : line.sources)
        if (rank == 0 || !sources.contains(file)) sources[file] = digest;
}

namespace {

// Rank 0 writes it.
bool lacksRank0(const RunInfo& info, const std::filesystem::path& folder) {
  std::error_code ignored;
  bool others = false;
  for (int rank = 1; rank < info.ranks && !others; ++rank)
    others = std::filesystem::exists(folder / ("rank_" + std::to_string(rank)), ignored);
  return others && !std::filesystem::exists(folder / "rank_0", ignored);
}

// Whoever starts a run holds a lock on its folder, from before its first rank begins.
bool inUse(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return descriptor.valid() && !descriptor.lockToRead();
}

// As opposed to a graph that is still to come, was lost, or lies elsewhere.
bool failedEarly(const core::Error& error, const RunInfo& info, const std::filesystem::path& folder) {
  if (error.code() != core::ErrorCode::kMissing || lacksRank0(info, folder)) return false;
  if (info.end.state == "running") return !inUse(folder);
  return info.end.state == "failed" || info.end.state == "killed";
}

core::Error missingGraph(const core::Error& error, const RunInfo& info, const std::filesystem::path& folder) {
  if (error.code() != core::ErrorCode::kMissing) return error;
  if (lacksRank0(info, folder))
    return {core::ErrorCode::kDamaged,
            folder.string() +
                ": rank 0 and the graph are missing: they are in the folder of rank 0's host; join them: "
                "msdbg merge " +
                folder.string() + " FOLDER…"};
  if (info.end.state == "finished" &&
      !info.end.message.empty())  // nothing went wrong, and nothing was recorded
    return {core::ErrorCode::kDamaged, folder.string() + ": " + info.end.message};
  if (info.end.state != "running")
    return {core::ErrorCode::kDamaged,
            error.message() + (info.end.message.empty() ? "" : ": " + info.end.message)};
  return {core::ErrorCode::kUnavailable,
          error.message() + "; if the run has just begun it comes in a moment: msdbg info --follow waits"};
}

}  // namespace

core::Result<std::unique_ptr<RunReader>> RunReader::open(const std::filesystem::path& folder,
                                                         WithoutGraph withoutGraph) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return core::Error(core::ErrorCode::kMissing, folder.string() + ": there is no such run folder");
  }
  if (!std::filesystem::is_directory(folder, error)) {
    return core::Error(core::ErrorCode::kDamaged, folder.string() + " is not a folder, so it is not a run");
  }
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  MSDBG_TRY(impl->readInfo());
  impl->graphless = !RunGraphs::any(folder);
  const core::Error noGraph(core::ErrorCode::kMissing,
                            folder.string() + ": no graph: the program ended before its graph was complete");
  if (impl->graphless && (withoutGraph == WithoutGraph::kRefuse || !failedEarly(noGraph, impl->info, folder)))
    return missingGraph(noGraph, impl->info, folder);
  MSDBG_TRY(impl->loadNewRanks(nullptr));
  const bool lost =
      std::ranges::any_of(impl->ranks, [](const auto& entry) { return !entry.second.segments.empty(); });
  if (impl->graphless && lost) return missingGraph(noGraph, impl->info, folder);
  if (!impl->graphless) {
    MSDBG_ASSIGN(impl->graphs, RunGraphs::load(folder, impl->ranks,
                                               [&](Damage found) { impl->addDamage(std::move(found)); }));
  }
  impl->loadSources();
  return std::unique_ptr<RunReader>(new RunReader(std::move(impl)));
}

RunReader::RunReader(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
RunReader::~RunReader() = default;

const std::filesystem::path& RunReader::folder() const { return m_impl->folder; }
const RunInfo& RunReader::info() const { return m_impl->info; }
const core::Graph& RunReader::graph() const { return m_impl->graph(); }
const core::GraphPart* RunReader::part(core::Rank rank, core::Iteration iteration) const {
  if (m_impl->graphs.count() < 2) return nullptr;
  const SegmentLine* line = m_impl->lineOf(rank, iteration);
  return line ? m_impl->graphs.part(rank, line->graph) : nullptr;
}

bool RunReader::isOfNewestGraph(core::NodeId node, core::TensorId tensor) const {
  return m_impl->graphs.isOfFirst(node, tensor);
}

const std::vector<Damage>& RunReader::damage() const { return m_impl->damage; }

bool RunReader::recording() const {
  return std::any_of(m_impl->ranks.begin(), m_impl->ranks.end(),
                     [](const auto& entry) { return isRecording(entry.second.folder); });
}

std::vector<core::Rank> RunReader::ranks() const {
  std::vector<core::Rank> ranks;
  for (const auto& [rank, index] : m_impl->ranks) ranks.emplace_back(rank);
  return ranks;
}

std::vector<IterationState> RunReader::iterations(core::Rank rank) const {
  std::vector<IterationState> states;
  const auto at = m_impl->ranks.find(rank.value);
  if (at == m_impl->ranks.end()) return states;
  states.reserve(at->second.iterations.size());
  for (const std::int64_t iteration : at->second.iterations) states.push_back({iteration, true});
  for (const std::int64_t iteration : incompleteIterations(rank))
    std::ranges::lower_bound(states, iteration, {}, &IterationState::iteration)->complete = false;
  return states;
}

const core::IterationSet& RunReader::iterationSet(core::Rank rank) const {
  static const core::IterationSet kNone;
  const auto at = m_impl->ranks.find(rank.value);
  return at == m_impl->ranks.end() ? kNone : at->second.iterations;
}

// Only the last one of a segment can be.
std::vector<std::int64_t> RunReader::incompleteIterations(core::Rank rank) const {
  std::vector<std::int64_t> found;
  const auto at = m_impl->ranks.find(rank.value);
  if (at == m_impl->ranks.end()) return found;
  for (const auto& [first, part] : at->second.segmentOf.parts())
    if (at->second.incomplete(part.last)) found.push_back(part.last);
  return found;
}

std::optional<std::string> RunReader::sourceText(const std::string& file) const {
  const auto at = m_impl->sources.find(file);
  if (at == m_impl->sources.end()) return std::nullopt;
  auto text = readFile(m_impl->folder / "sources" / at->second, kLargestSource);
  const std::string where = "sources/" + at->second + " (" + file + ")";
  if (!text.ok())
    m_impl->addDamage({where, text.error().message(), core::Rank(), {}});
  else if (sha256(*text) != at->second)
    m_impl->addDamage({where, "does not match its SHA-256", core::Rank(), {}});
  else
    return std::move(*text);
  return std::nullopt;
}

std::vector<std::string> RunReader::sourceFiles() const {
  std::vector<std::string> files;
  for (const auto& [file, digest] : m_impl->sources) files.push_back(file);
  return files;
}

RunReader::RowView RunReader::row(core::Rank rank, core::Iteration iteration, core::TensorId tensor) {
  const auto found = m_impl->row(rank, iteration, tensor);
  if (!found.ok()) return {.damaged = found.error().code() != core::ErrorCode::kUnavailable};
  if (*found && seen(**found)) return {.row = *found};
  return {.thinned = thinned(rank, iteration)};
}

core::Result<StatisticsRow> RunReader::statistics(core::Rank rank, core::Iteration iteration,
                                                  core::TensorId tensor) {
  MSDBG_ASSIGN(const StatisticsRow* found, m_impl->row(rank, iteration, tensor));
  if (found && complete(*found)) return *found;
  if (const SegmentLine* line = m_impl->lineOf(rank, iteration);
      line && !m_impl->describe(rank, *line, tensor))
    return m_impl->notComputed(rank, iteration, tensor);
  if (thinned(rank, iteration)) return m_impl->wasThinned(rank, iteration, tensor);
  return m_impl->notRecorded(rank, iteration, tensor,
                             !found           ? kNotSeen
                             : seen(*found)   ? "has no statistics, only its NaN and Inf were to be counted"
                             : hashed(*found) ? "has no statistics, only its hash was to be recorded"
                                              : kNotSeen);
}

core::Result<core::Hash128> RunReader::hash(core::Rank rank, core::Iteration iteration,
                                            core::TensorId tensor) {
  MSDBG_ASSIGN(const StatisticsRow* found, m_impl->row(rank, iteration, tensor));
  if (found && hashed(*found)) return found->values.hash;
  if (thinned(rank, iteration)) return m_impl->wasThinned(rank, iteration, tensor);
  return m_impl->notRecorded(rank, iteration, tensor, kNotSeen);
}

const Metrics* RunReader::metrics(core::Rank rank) const {
  const auto at = m_impl->ranks.find(rank.value);
  return at == m_impl->ranks.end() ? nullptr : &at->second.journal.metrics;
}

namespace {

const std::map<std::int64_t, double>* valuesOf(const Metrics* metrics, const std::string& name) {
  if (!metrics) return nullptr;
  const auto at = metrics->find(name);
  return at == metrics->end() ? nullptr : &at->second;
}

}  // namespace

std::optional<double> RunReader::scalar(core::Rank rank, core::Iteration iteration, const std::string& name) {
  if (const auto* values = valuesOf(metrics(rank), name)) {
    const auto at = values->find(iteration.value);
    return at == values->end() ? std::nullopt : std::optional(at->second);
  }
  const auto segment = m_impl->segment(rank, iteration);
  if (!segment.ok()) return std::nullopt;
  const auto value = (*segment)->reader->scalar(name, iteration.value);
  if (value.ok()) return *value;
  const SegmentLine& line = *m_impl->lineOf(rank, iteration);
  m_impl->addDamage(m_impl->ranks.at(rank.value), line, value.error(), line.iterations);
  return std::nullopt;
}

// The newest value that there is. Looks at each segment once, until one has it.
std::optional<double> RunReader::lastScalar(core::Rank rank, const std::string& name) {
  if (const auto* values = valuesOf(metrics(rank), name)) return values->rbegin()->second;
  const auto at = m_impl->ranks.find(rank.value);
  std::int64_t before = INT64_MAX;
  while (at != m_impl->ranks.end()) {
    const auto& parts = at->second.segmentOf.parts();
    const auto next = parts.lower_bound(before);
    if (next == parts.begin()) break;
    const std::int64_t first = std::prev(next)->first, last = std::prev(next)->second.last;
    before = first;
    const auto segment = m_impl->segment(rank, core::Iteration(last));
    if (!segment.ok()) continue;
    const auto found = (*segment)->reader->lastScalar(name, first, last);
    if (found.ok() && *found) return *found;
    if (found.ok()) continue;
    const SegmentLine& line = *m_impl->lineOf(rank, core::Iteration(last));
    m_impl->addDamage(at->second, line, found.error(), line.iterations);
  }
  return std::nullopt;
}

// Metrics, and those of the first segment of each rank: they do not come and go within a run.
std::vector<std::string> RunReader::scalarNames() {
  std::set<std::string> names;
  for (const auto& [rank, index] : m_impl->ranks) {
    for (const auto& [name, values] : index.journal.metrics) names.insert(name);
    for (const SegmentLine& line : index.segments) {
      const auto segment = m_impl->segment(core::Rank(rank), core::Iteration(line.iterations.front()));
      const auto found = segment.ok() ? (*segment)->reader->scalarNames()
                                      : core::Result<std::vector<std::string>>(segment.error());
      if (!found.ok()) continue;
      names.insert(found->begin(), found->end());
      if (!found->empty()) break;
    }
  }
  return {names.begin(), names.end()};
}

std::vector<RecordedHit> RunReader::hits() const {
  std::vector<RecordedHit> hits;
  for (const auto& [rank, index] : m_impl->ranks)
    for (const HitLine& line : index.journal.hits) hits.push_back({core::Rank(rank), line});
  std::stable_sort(hits.begin(), hits.end(), [](const RecordedHit& a, const RecordedHit& b) {
    return std::tuple(a.line.iteration, a.line.order, a.rank) <
           std::tuple(b.line.iteration, b.line.order, b.rank);
  });
  return hits;
}

std::vector<RecordedGap> RunReader::gaps() const {
  std::vector<RecordedGap> gaps;
  for (const auto& [rank, index] : m_impl->ranks)
    for (const GapLine& line : index.journal.gaps) gaps.push_back({core::Rank(rank), line});
  return gaps;
}

std::vector<RecordedRestart> RunReader::restarts() const {
  std::vector<RecordedRestart> restarts;
  for (const auto& [rank, index] : m_impl->ranks)
    for (const RestartLine& line : index.journal.restarts) restarts.push_back({core::Rank(rank), line});
  return restarts;
}

std::optional<RunEnd> RunReader::rankEnd(core::Rank rank) const {
  const auto at = m_impl->ranks.find(rank.value);
  return at == m_impl->ranks.end() ? std::nullopt : at->second.journal.end;
}

std::vector<MeshAxis> RunReader::mesh(core::Rank rank) const {
  const auto at = m_impl->ranks.find(rank.value);
  return at == m_impl->ranks.end() ? std::vector<MeshAxis>() : at->second.journal.mesh;
}

std::optional<RecordingTimes> RunReader::timing(core::Rank rank) const {
  const auto at = m_impl->ranks.find(rank.value);
  return at == m_impl->ranks.end() ? std::nullopt : at->second.journal.timing;
}

RunReader::StorageInfo RunReader::storage() const {
  StorageInfo info;
  for (const auto& [rank, index] : m_impl->ranks) {
    for (const SegmentLine& line : index.segments) {
      info.rawBytes += line.rawBytes;
      info.storedBytes += line.storedBytes;
      info.fileBytes += line.bytes;
      info.stateBytes += line.stateBytes;
      info.batchBytes += line.batchBytes;
      ++info.segments;
    }
  }
  return info;
}

}  // namespace msdbg::dump
