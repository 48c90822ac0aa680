// SegmentStore, the part that writes segments again without some of what they hold: which statistics thin,
// which checkpoints and batches go, the work itself in steps, and its lines.
#include <algorithm>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/policy/checkpoints.h"
#include "dump/writer/merge_plan.h"
#include "dump/writer/replay_plan.h"
#include "dump/writer/segment_store.h"
#include "dump/writer/thinning_plan.h"

namespace msdbg::dump {
namespace {

constexpr std::int64_t kLargestStep = 1'000'000'000'000'000;

// For the lines and the copy of run.json that a rank writes when it ends.
std::uint64_t reserveOf(std::uint64_t budget) { return std::min<std::uint64_t>(budget / 64, 64u << 10); }

std::uint64_t sizeOf(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes;
}

// Graphs and sources are most often those of all ranks: they are counted as a part of rank 0's share.
std::uint64_t runBytes(const std::filesystem::path& run) {
  std::uint64_t bytes = sizeOf(run / "run.json");
  std::error_code error;
  for (const char* folder : {"graphs", "sources"})
    for (const auto& entry : std::filesystem::directory_iterator(run / folder, error))
      bytes += sizeOf(entry.path());
  return bytes;
}

constexpr std::size_t kFewFiles = 4;

// Files without values that are to become one although they are fewer than is usual. The newest is not among
// them: it cannot thin yet.
std::vector<std::int64_t> fewFiles(const Retention& retention, std::size_t width) {
  if (retention.segments().empty()) return {};
  MergeLimits limits;
  limits.statisticsBytes = std::clamp<std::uint64_t>(retention.maxBytes() / 16, 64u << 10, 1u << 20);
  limits.valueBytes = limits.statisticsBytes;
  limits.mayMerge = [newest = &retention.segments().back()](const KeptSegment& segment) {
    return !segment.values && &segment != newest;
  };
  limits.width = width;
  return planMerge(retention.segments(), limits);
}

}  // namespace

void SegmentStore::knowPlan(const GraphPlan& plan) {
  const auto [at, isNew] = m_batchTensors.try_emplace(plan.version);
  if (!isNew) return;
  for (const core::TensorInfo& tensor : plan.graph.tensors())
    if (inBatch(tensor)) at->second.insert(tensor.fullName());
  m_runBytes = m_rank == 0 ? runBytes(m_folder.parent_path()) : 0;
}

bool SegmentStore::keepsStatistics(std::int64_t iteration, std::int64_t step) const {
  return iteration % step == 0 || m_outliers.contains(iteration) ||
         (m_keep && m_keep(iteration, iteration) >= Keep::kLate);
}

void SegmentStore::measure() {
  std::uint64_t bytes = m_runBytes + sizeOf(m_folder / "journal") + sizeOf(m_folder / "run.json");
  for (int part = 1;; ++part) {
    const std::uint64_t more = sizeOf(m_folder / ("journal." + std::to_string(part)));
    if (more == 0) break;
    bytes += more;
  }
  m_retention.setOtherBytes(bytes + reserveOf(m_retention.maxBytes()));
}

// The least step by which something goes; what has nothing that could go stays.
bool SegmentStore::planThinning(const Need& need) {
  while (!m_rewrite) {
    const ThinningPlan plan = m_retention.nextThinning(need);
    if (plan.segments.empty()) return false;
    core::IterationSet all;
    for (const std::int64_t number : plan.segments) all.append(*m_retention.segment(number).which);
    std::int64_t step = plan.step * 10, kept = 0;
    for (; step <= kLargestStep; step *= 10) {
      kept = std::ranges::count_if(all, [&](std::int64_t i) { return keepsStatistics(i, step); });
      if (kept < static_cast<std::int64_t>(all.size())) break;
    }
    if (step > kLargestStep)
      m_retention.cannotThin(plan.segments);
    else
      beginThinning(plan.segments, step, all, kept > 0);
  }
  return true;
}

void SegmentStore::begin(const std::vector<std::int64_t>& old, std::int64_t step,
                         std::vector<MergeSelection> files) {
  const auto isOld = [&](std::int64_t segment) { return std::ranges::count(old, segment) > 0; };
  if (m_merge && std::ranges::any_of(m_merge->old(), isOld)) m_merge.reset();
  m_plan.clear();
  const std::int64_t number = std::exchange(m_next, m_next + static_cast<std::int64_t>(files.size()));
  m_rewrite = std::make_unique<SegmentRewrite>(m_folder, m_rank, number, old, std::move(files));
  m_rewriteStep = step;
}

void SegmentStore::beginThinning(const std::vector<std::int64_t>& old, std::int64_t step,
                                 const core::IterationSet& all, bool anyKept) {
  // Decided now: a hit that is told later must not be in both files or in none.
  core::IterationSet kept;
  for (const std::int64_t iteration : all)
    if (keepsStatistics(iteration, step)) kept.push_back(iteration);
  std::vector<MergeSelection> files;
  if (anyKept)
    files.push_back({.takes = [kept](std::int64_t iteration) { return kept.contains(iteration); }});
  files.push_back({.takes = [kept](std::int64_t iteration) { return !kept.contains(iteration); },
                   .thinned = step,
                   .keptHashes = m_batchTensors[m_retention.segment(old[0]).graph]});
  begin(old, step, std::move(files));
}

bool SegmentStore::planReplay(const Need& need, Retention::Newest newest) {
  if (m_rewrite) return true;
  const ReplayPlan plan = m_retention.nextReplay(need, newest);
  if (plan.empty()) return false;
  m_dropped = true;
  // On a disk that is full nothing is written again that need not be: it would take the room that there is.
  m_loose = m_loose || need.disk == 0;
  beginWithout(plan);
  return true;
}

// They are of no use to anybody, also where there is room for them.
bool SegmentStore::planUseless() {
  if (m_rewrite || !m_loose) return m_rewrite != nullptr;
  const ReplayPlan plan = m_retention.nextUseless();
  if (plan.empty()) return m_loose = false;
  beginWithout(plan);
  return true;
}

void SegmentStore::beginWithout(const ReplayPlan& plan) {
  const auto without = [](const core::IterationSet& those) {
    return [those](std::int64_t iteration) { return !those.contains(iteration); };
  };
  begin({plan.segment}, m_retention.segment(plan.segment).step,
        {{.checkpoints = without(plan.checkpoints), .batches = without(plan.batches)}});
}

// False: it cannot be done now.
core::Result<bool> SegmentStore::rewriteStep() {
  MSDBG_TRY(m_journal->checkPlace());
  const core::Result<bool> done = m_rewrite->step();
  if (done.ok() && !*done) return true;
  const std::unique_ptr<SegmentRewrite> rewrite = std::move(m_rewrite);
  if (done.ok()) {
    listRewritten(*rewrite, m_rewriteStep, m_retention.segment(rewrite->old()[0]).dropped, Dropped::kGoes);
    measure();
  } else if (done.error().code() == core::ErrorCode::kIo) {
    core::logInfo("what --max-size or --keep-free asks for cannot be given up now: " +
                  done.error().message());
  } else {
    cannotRewrite(rewrite->old(), done.error());
  }
  planMerge();
  return done.ok() || done.error().code() != core::ErrorCode::kIo;
}

void SegmentStore::cannotRewrite(const std::vector<std::int64_t>& old, const core::Error& error) {
  if (old.size() > 1) return m_retention.cannotMerge(old);  // one by one, then
  core::logWarn(
      "statistics, checkpoints and batches of a segment cannot be given up, which --max-size or --keep-free "
      "asks for: " +
      error.message());
  m_retention.cannotThin(old);
  m_retention.cannotDrop(old[0]);
}

// All lines at once: the old files go only when all are durable.
void SegmentStore::listRewritten(SegmentRewrite& rewrite, std::int64_t step, bool dropped, Dropped how) {
  const std::vector<std::int64_t> old = rewrite.old();
  const KeptSegment before = m_retention.segment(old[0]);
  std::vector<KeptSegment> kept;
  std::vector<std::string> lines;
  for (const auto& [written, replayBytes] : rewrite.written()) {
    SegmentLine line = written;
    line.tensorsDropped = dropped;
    m_bytesWritten += line.bytes;
    lines.push_back(formatSegment(line));
    KeptSegment& segment = kept.emplace_back(keptSegment(line, replayBytes));
    segment.step = step;
    if (step == before.step) segment.level = before.level, segment.stays = before.stays;
  }
  (void)m_journal->append(lines);
  rewrite.listed();
  m_retention.thin(old, kept);
  for (const std::int64_t segment : old) remove(m_folder / segmentFileName(segment), how);
}

// A small file is mostly overhead: before more goes, few files of a kind become one, and where no more can
// go, any two, unless that is of no use either. What cannot be merged is not planned again. False: there are
// none.
core::Result<bool> SegmentStore::mergeFew(std::size_t width, std::vector<std::int64_t>& before) {
  const std::vector<std::int64_t> few = fewFiles(m_retention, width);
  if (few.empty() || few == std::exchange(before, few)) return false;
  m_merge.reset();
  m_plan = few;
  do MSDBG_TRY(mergeStep());
  while (m_merge);
  return true;
}

// A step of what is needed next besides dropping values; false: there is none, or the disk refuses.
core::Result<bool> SegmentStore::giveUpSome(const Need& need, std::vector<std::int64_t>& before,
                                            Retention::Newest newest) {
  if (!m_rewrite) {
    const bool canGo = m_retention.leastBytes() > m_retention.maxBytes() ||
                       !m_retention.nextThinning(need).segments.empty() ||
                       !m_retention.nextReplay(need, Retention::Newest::kStays).empty();
    MSDBG_ASSIGN(const bool merged, mergeFew(canGo ? kFewFiles : 2, before));
    if (merged) return true;
  }
  if (!planThinning(need) && !planReplay(need, newest)) return false;
  return rewriteStep();
}

// A step of giving up checkpoints and batches that newer ones take the place of; false as above.
core::Result<bool> SegmentStore::giveUpOlderReplay(const Need& need) {
  if (!planReplay(need, Retention::Newest::kStays)) return false;
  return rewriteStep();
}

core::Status SegmentStore::thinFor(const Need& need) {
  measure();
  std::vector<std::int64_t> before;
  while (m_retention.statisticsExceed(need) || m_retention.exceeds(need)) {
    MSDBG_ASSIGN(const bool did, giveUpSome(need, before));
    if (!did) break;
  }
  while (m_loose && need.disk == 0 && planUseless()) {
    MSDBG_ASSIGN(const bool did, rewriteStep());
    if (!did) break;
  }
  if (need.incoming == 0) sayTooMuch();
  return core::Ok{};
}

void SegmentStore::sayTooMuch() {
  if (m_saidTooMuch || m_retention.leastBytes() <= m_retention.maxBytes()) return;
  core::logWarn(
      "what stays of every iteration (scalars, digests, hashes of batches, the journal, the graph) takes " +
      core::formatBytes(m_retention.leastBytes()) + " by now, more than this rank's share of --max-size (" +
      core::formatBytes(m_retention.maxBytes()) + "), and grows; raise --max-size");
  m_saidTooMuch = true;
}

// In quiet moments, before it is urgent: room for two more segments as the newest.
void SegmentStore::planQuietThinning() {
  const std::vector<KeptSegment>& all = m_retention.segments();
  if (!all.empty() && !all.back().values)
    (void)planThinning({.incoming = 2 * all.back().bytes, .replay = 2 * all.back().replayBytes});
}

}  // namespace msdbg::dump
